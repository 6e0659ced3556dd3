import { CsiError } from "@mooring/csi";

/** Options that would turn a mount into something else than this volume at this path. */
const FORBIDDEN =
  /^(?:bind|rbind|move|remount|loop(?:=.*)?|offset=.*|sizelimit=.*|(?:r)?(?:shared|private|slave|unbindable)|helper=.*|x-mount\..*|X-mount\..*)$/;

/** Mount flags may be secret, so a message never repeats them: only their position is named. */
export function checkMountFlags(flags: readonly string[]): string[] {
  for (const [index, flag] of flags.entries()) {
    const parts = flag.split(",");
    const printable = [...flag].every((character) => character > " " && character !== "\u007f");
    if (flag === "" || flag.startsWith("-") || !printable || parts.some((part) => FORBIDDEN.test(part))) {
      throw CsiError.invalidArgument(`volume_capability.mount.mount_flags[${index}] is not allowed`);
    }
  }
  return [...flags];
}
