import { isDeleting } from "@mooring/store";
import type { Snapshot } from "../../../api/snapshot.ts";
import type { JobView } from "./view.ts";

/**
 * A snapshot of this job that has to go: the oldest ready one beyond those kept of its volume, or one that was never
 * made and belongs to no run any more. One that something is being made from stays until that is done.
 */
export function expired({ job, snapshots, inUse }: JobView): string | undefined {
  const free = snapshots.filter((s) => !isDeleting(s) && !inUse.has(s.metadata.name));
  const abandoned = free.find(({ status }) => status?.creationTime === undefined);
  if (abandoned !== undefined) return abandoned.metadata.name;
  const byVolume = new Map<string, Snapshot[]>();
  for (const snapshot of snapshots) {
    // What is lost is no snapshot to keep, and none to count.
    if (isDeleting(snapshot) || snapshot.status?.readyToUse !== true) continue;
    byVolume.set(snapshot.spec.volume, [...(byVolume.get(snapshot.spec.volume) ?? []), snapshot]);
  }
  for (const ofVolume of byVolume.values()) {
    const oldestFirst = ofVolume.sort((a, b) => (madeAt(a) < madeAt(b) ? -1 : 1));
    const surplus = oldestFirst.slice(0, Math.max(0, oldestFirst.length - job.spec.retain));
    const going = surplus.find(({ metadata }) => !inUse.has(metadata.name));
    if (going !== undefined) return going.metadata.name;
  }
  return undefined;
}

function madeAt({ status, metadata }: Snapshot): string {
  return `${status?.creationTime ?? ""} ${metadata.name}`;
}
