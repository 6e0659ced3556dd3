import { CsiError } from "@mooring/csi";

/** Options that would turn a mount into something else than this volume at this path. */
const FORBIDDEN =
  /^(?:bind|rbind|move|remount|loop(?:=.*)?|offset=.*|sizelimit=.*|(?:r)?(?:shared|private|slave|unbindable)|helper=.*|x-mount\..*|X-mount\..*)$/;

/** Why a flag is refused. First match wins. */
const REFUSALS: readonly [(flag: string) => boolean, string][] = [
  [(flag) => flag === "", "is empty"],
  [(flag) => flag.startsWith("-"), 'begins with "-" and would be an argument of mount, not a flag'],
  [(flag) => [...flag].some((c) => c <= " " || c === "\u007f"), "has blanks or control characters"],
  [
    (flag) => flag.split(",").some((part) => FORBIDDEN.test(part)),
    "asks for another mount than this volume at this path: binding, moving, remounting, a loop device, a helper and propagation are not for the caller to choose",
  ],
];

/** Mount flags may be secret, so a message never repeats them: only their position and the rule are named. */
export function checkMountFlags(flags: readonly string[]): string[] {
  for (const [index, flag] of flags.entries()) {
    const refusal = REFUSALS.find(([refuses]) => refuses(flag));
    if (refusal === undefined) continue;
    throw CsiError.invalidArgument(`volume_capability.mount.mount_flags[${index}] ${refusal[1]}`, {
      hint: "Give options of the file system as mount(8) has them, each in an entry of its own: noatime, for instance.",
    });
  }
  return [...flags];
}

/** What asks for a flag of the mount itself, and what asks for the opposite, which a bind mount has already. */
const BIND_FLAGS: ReadonlyMap<string, string | undefined> = new Map([
  ...["noexec", "nosuid", "nodev", "noatime", "nodiratime"].map((flag) => [flag, flag] as const),
  ...["ro", "rw", "exec", "suid", "dev", "atime", "relatime", "diratime", "defaults"].map(
    (flag) => [flag, undefined] as const,
  ),
]);

/**
 * The flags of a bind mount, which is all that a folder of a `directory` pool has. Throws INVALID_ARGUMENT for what only
 * a file system of its own could have.
 */
export function bindFlags(flags: readonly string[]): string[] {
  const wanted = new Set<string>();
  for (const [index, flag] of flags.entries()) {
    for (const part of flag.split(",")) {
      if (!BIND_FLAGS.has(part)) {
        throw CsiError.invalidArgument(
          `volume_capability.mount.mount_flags[${index}] is no flag of a bind mount, and a volume of a directory pool is one`,
          { hint: "Use ro, noexec, nosuid, nodev, noatime or nodiratime, or another pool." },
        );
      }
      const set = BIND_FLAGS.get(part);
      if (set === undefined) wanted.delete(`no${part}`);
      else wanted.add(set);
    }
  }
  return [...wanted];
}

/** Those of the flags that a bind mount can have, for what is bound here and mounted in another way elsewhere. */
export function bindFlagsAmong(flags: readonly string[]): string[] {
  return bindFlags(flags.flatMap((flag) => flag.split(",")).filter((part) => BIND_FLAGS.has(part)));
}
