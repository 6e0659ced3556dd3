import { type CallContext, CsiError, type v1 } from "@mooring/csi";
import { changedRanges } from "@mooring/engine";
import type { DriverContext } from "../context.ts";
import { findMap, type MappedSnapshot } from "./find-map.ts";
import { responses, windowOf } from "./responses.ts";

/**
 * GetMetadataDelta: the ranges in which a snapshot may differ from an earlier one of the same volume. Nothing has to be
 * tracked for it: copies share the blocks that have not changed.
 */
export async function* getDelta(
  driver: DriverContext,
  { baseSnapshotId, targetSnapshotId, startingOffset, maxResults }: v1.GetMetadataDeltaRequest,
  { signal }: CallContext,
) {
  const base = await findMap(driver, baseSnapshotId, signal);
  const target = await findMap(driver, targetSnapshotId, signal);
  requireOrder(base, target);
  const window = windowOf(startingOffset, target.size);
  const changed = changedRanges(base.extents(signal), target.extents(signal), window);
  yield* responses(changed, target.size, maxResults);
}

function requireOrder({ snapshot: base }: MappedSnapshot, { snapshot: target }: MappedSnapshot): void {
  const names = `"${base.metadata.name}" and "${target.metadata.name}"`;
  if (base.spec.volume !== target.spec.volume) {
    throw CsiError.invalidArgument(`snapshots ${names} are of different volumes`, {
      hint: "Compare two snapshots of one volume, or ask for all blocks with GetMetadataAllocated.",
    });
  }
  const [from = "", to = ""] = [base.status?.creationTime, target.status?.creationTime];
  if (from > to) {
    throw CsiError.invalidArgument(`of snapshots ${names}, the base is the later one`, {
      hint: "The base is the earlier snapshot, the target the later one.",
    });
  }
}
