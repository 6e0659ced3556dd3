import type { DriverInfo } from "../csi/driver-info.ts";

/** The event about a driver that has come back as another one. */
export interface DriverChange {
  /** Something that was there is missing now, and needs somebody. */
  type: "Normal" | "Warning";
  message: string;
}

/** `endpoint`: the socket behind which it is. */
export function describeChange(before: DriverInfo, now: DriverInfo, endpoint: string): DriverChange {
  const back = `${before.name} ${before.version} has come back as ${now.name} ${now.version}`;
  if (before.name !== now.name)
    return {
      type: "Warning",
      message:
        `${back}, at ${endpoint}: what ${before.name} has made waits until a driver of that name serves again; ` +
        "start it there, or at a socket of its own (--csi-address)",
    };
  const [had, has] = [abilities(before), abilities(now)];
  const [lost, gained] = [without(had, has), without(has, had)];
  const more = gained.length === 0 ? "" : `; it has ${gained.join(", ")} now`;
  if (lost.length === 0) return { type: "Normal", message: `${back}${more}` };
  return {
    type: "Warning",
    message:
      `${back}${more}; it no longer has ${lost.join(", ")}: what needs that waits. ` +
      "Start a version that has it, or delete what waits",
  };
}

/** By the names of the specification. */
function abilities(info: DriverInfo): string[] {
  const { can, controller, expansion, groupSnapshots, topology, volumeGroups } = info;
  return [
    ...(controller ? ["CONTROLLER_SERVICE"] : []),
    ...(topology ? ["VOLUME_ACCESSIBILITY_CONSTRAINTS"] : []),
    ...(groupSnapshots ? ["CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT"] : []),
    ...(expansion === "none" ? [] : [`${expansion.toUpperCase()} expansion`]),
    ...[...can].sort(),
    ...[...volumeGroups].sort(),
  ];
}

const without = (some: readonly string[], others: readonly string[]) =>
  some.filter((each) => !others.includes(each));
