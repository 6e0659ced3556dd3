import type { PoolType } from "../../api/pool.ts";
import { EngineError } from "../../errors.ts";
import type { FreezeTarget } from "../../host/freezer/freezer.ts";

/** What is read of a member before its barrier. */
export interface MemberUse {
  volume: string;
  pool: { name: string; type: PoolType };
  use:
    | { as: "unused" }
    /** A file system mounted here. */
    | { as: "filesystem"; mount: string }
    /** A raw device that processes have open; their control groups, undefined where there is none of their own. */
    | { as: "device"; device: string; cgroups: readonly (string | undefined)[] }
    /** In use in a way that cannot be reached from here, for messages. */
    | { as: "hidden"; where: string };
}

/** How one member is kept still; without targets nothing has to be. */
export interface Quiesce {
  volume: string;
  method: "none" | "subvolume" | "freeze" | "cgroup";
  targets: readonly FreezeTarget[];
}

/**
 * How every member is kept still during the copy. Pure. Members in use fall into domains, each of which is copied by one
 * atomic operation: all of a btrfs pool, or one image of an xfs pool. In a single domain no writer has to stop; with
 * several, nothing may be written from the first copy to the last. `alone`: no other node takes part. Throws
 * FAILED_PRECONDITION for a member that cannot be kept still.
 */
export function chooseQuiesce(members: readonly MemberUse[], alone: boolean): Quiesce[] {
  const used = members.filter(({ use }) => use.as !== "unused");
  const domains = new Set(used.map(({ pool, volume }) => (pool.type === "btrfs" ? pool.name : `/${volume}`)));
  const atomic = alone && domains.size <= 1;
  return members.map((member) => choose(member, atomic));
}

function choose({ volume, pool, use }: MemberUse, atomic: boolean): Quiesce {
  const nothing: Quiesce = { volume, method: pool.type === "btrfs" ? "subvolume" : "none", targets: [] };
  if (use.as === "unused") return nothing;
  if (pool.type === "directory") {
    throw refusal(volume, "is a folder in use, which cannot be kept still", "stop its workload first");
  }
  if (atomic && pool.type === "btrfs") return nothing;
  switch (use.as) {
    case "filesystem":
      return { volume, method: "freeze", targets: [{ kind: "filesystem", path: use.mount }] };
    case "device":
      return atomic ? nothing : { volume, method: "cgroup", targets: groupTargets(volume, use.cgroups) };
    case "hidden":
      throw refusal(
        volume,
        `is in use where it cannot be kept still (${use.where})`,
        "stop its workload first",
      );
  }
}

function groupTargets(volume: string, cgroups: readonly (string | undefined)[]): FreezeTarget[] {
  const paths = new Set<string>();
  for (const path of cgroups) {
    if (path === undefined) {
      const what =
        "is a raw device of a process without a control group of its own, which cannot be kept still";
      throw refusal(volume, what, "run its workload in a control group, or use volumes of a btrfs pool");
    }
    paths.add(path);
  }
  return [...paths].map((path) => ({ kind: "cgroup", path }));
}

function refusal(volume: string, what: string, hint: string): EngineError {
  return new EngineError("FAILED_PRECONDITION", `volume ${volume} ${what}`, { hint });
}
