import type { GroupMember, GroupSnapshotStatus } from "../../../api/group-snapshot.ts";
import { isAttachedTo } from "../../../tickets/exposure.ts";
import type { CoordinatorView } from "./view.ts";

type Members = NonNullable<GroupSnapshotStatus["members"]>;

/** The node whose agent copies a member: its pool's; in a shared pool the one that has the volume now. `""`: none yet. */
function nodeOf({ poolNodes, sharedPools, volumes }: CoordinatorView, { pool, volume }: GroupMember): string {
  if (!sharedPools.has(pool)) return poolNodes.get(pool) ?? "";
  const found = volumes.get(volume);
  const { currentNodeID = "" } = found?.status ?? {};
  return found !== undefined && isAttachedTo(found, currentNodeID) ? currentNodeID : "";
}

/** Every member with the node that is to copy it, as things are now. */
export function placement(view: CoordinatorView): Members {
  return view.group.spec.members.map((member) => ({
    volume: member.volume,
    snapshot: member.snapshot,
    nodeID: nodeOf(view, member),
  }));
}

/** Nodes that take part; none before every member has its own, since no agent can prepare without. */
export function nodesOf(members: Members): string[] {
  const nodes = [...new Set(members.map(({ nodeID }) => nodeID))].sort();
  return nodes.includes("") ? [] : nodes;
}

/** Each has a ticket that brings its volume to the node that is to copy it and keeps it there. */
export function isAttached(view: CoordinatorView): boolean {
  return placement(view).every(({ volume: name, nodeID }) => {
    const volume = view.volumes.get(name);
    return volume !== undefined && isAttachedTo(volume, nodeID);
  });
}

/** A volume of a shared pool is elsewhere than when the nodes were recorded. */
export function hasMoved(view: CoordinatorView): boolean {
  const recorded = new Map(view.group.status?.members?.map(({ volume, nodeID }) => [volume, nodeID]));
  return placement(view).some(({ volume, nodeID }) => recorded.get(volume) !== nodeID);
}
