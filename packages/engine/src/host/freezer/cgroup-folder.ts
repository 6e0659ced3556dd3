import { join } from "node:path";
import type { MountEntry } from "../host.ts";

/**
 * The folder of a version 2 control group that may be frozen; undefined when there is none, or when we would freeze
 * ourselves with it. `group` and `own` as in /proc/PID/cgroup.
 */
export function freezableGroup(
  mounts: readonly MountEntry[],
  group: string | undefined,
  own: string | undefined,
): string | undefined {
  if (group === undefined || group === "/" || own === undefined || isWithin(own, group)) return undefined;
  const home = mounts.find(({ fsType, root }) => fsType === "cgroup2" && isWithin(group, root));
  return home === undefined
    ? undefined
    : join(home.target, group.slice(home.root === "/" ? 0 : home.root.length));
}

function isWithin(path: string, folder: string): boolean {
  return folder === "/" || path === folder || path.startsWith(`${folder}/`);
}
