import { CsiError } from "@mooring/csi";
import { type GroupSnapshot, Pools } from "@mooring/engine";
import type { DriverContext } from "../context.ts";
import { snapshotResponse, timestamp } from "../controller/responses.ts";
import { findSnapshot, listObjects } from "../objects/find.ts";

/** `VolumeGroupSnapshot` of the specification; only for groups that have been made. */
export async function groupResponse(driver: DriverContext, group: GroupSnapshot, signal: AbortSignal) {
  const { name } = group.metadata;
  const { creationTime = "" } = group.status ?? {};
  const snapshots = await Promise.all(
    group.spec.members.map(({ snapshot }) => findSnapshot(driver.store, snapshot, signal)),
  );
  const present = snapshots.filter((snapshot) => snapshot !== undefined);
  if (present.length < snapshots.length) {
    throw CsiError.internal(`group snapshot "${name}" has lost a member`, {
      hint: `Read it: kubectl get groupsnapshot ${name} -o yaml`,
    });
  }
  const pools = await listObjects(driver.store, Pools, signal);
  const poolOf = new Map(pools.map((pool) => [pool.metadata.name, pool]));
  const all = present.map((snapshot) => ({
    ...snapshotResponse(driver, snapshot, poolOf.get(snapshot.spec.pool)),
    creationTime: timestamp(creationTime),
  }));
  return {
    groupSnapshotId: name,
    snapshots: all,
    creationTime: timestamp(creationTime),
    readyToUse: all.every(({ readyToUse }) => readyToUse),
  };
}

/** Throws INVALID_ARGUMENT when these are not the group's members. */
export function requireMembers(group: GroupSnapshot, ids: readonly string[]): void {
  const own = group.spec.members.map(({ snapshot }) => snapshot);
  const strange = ids.find((id) => !own.includes(id));
  if (strange !== undefined) {
    throw CsiError.invalidArgument(
      `snapshot "${strange}" is no member of group snapshot "${group.metadata.name}"`,
      { hint: `Name all members, and nothing else: ${own.join(", ")}.` },
    );
  }
  const missing = own.find((id) => !ids.includes(id));
  if (missing !== undefined) {
    const message = `snapshot_ids lacks "${missing}", a member of group snapshot "${group.metadata.name}"`;
    throw CsiError.invalidArgument(message, { hint: `Name all members: ${own.join(", ")}.` });
  }
}
