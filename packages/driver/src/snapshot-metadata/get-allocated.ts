import type { CallContext, v1 } from "@mooring/csi";
import { allocatedRanges } from "@mooring/engine";
import type { DriverContext } from "../context.ts";
import { findMap } from "./find-map.ts";
import { responses, windowOf } from "./responses.ts";

/** GetMetadataAllocated: the ranges of a snapshot that may contain anything but zeros. */
export async function* getAllocated(
  driver: DriverContext,
  { snapshotId, startingOffset, maxResults }: v1.GetMetadataAllocatedRequest,
  { signal }: CallContext,
) {
  const { size, extents } = await findMap(driver, snapshotId, signal);
  const window = windowOf(startingOffset, size);
  yield* responses(allocatedRanges(extents(signal), window), size, maxResults);
}
