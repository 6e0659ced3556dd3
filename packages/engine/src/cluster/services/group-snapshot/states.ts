import type { GroupSnapshot } from "../../../api/group-snapshot.ts";

const IN_BARRIER: ReadonlySet<string | undefined> = new Set(["quiescing", "cutting", "releasing"]);
const ENDED: ReadonlySet<string | undefined> = new Set([
  "committed",
  "ready",
  "failing",
  "failed",
  "deleting",
]);

/** Nodes stop writers for it now. */
export function isInBarrier({ status }: GroupSnapshot): boolean {
  return IN_BARRIER.has(status?.state);
}

/** It needs no node any more, other than to remove what was made. */
export function hasEnded({ status }: GroupSnapshot): boolean {
  return ENDED.has(status?.state);
}

/** Its members may still be given to nodes, for the first time or again. */
export function mayPlace(group: GroupSnapshot): boolean {
  return !hasEnded(group) && group.metadata.deletionTimestamp === undefined;
}
