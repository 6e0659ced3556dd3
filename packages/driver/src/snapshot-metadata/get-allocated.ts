import type { CallContext, v1 } from "@mooring/csi";
import { allocatedRanges } from "@mooring/engine";
import type { DriverContext } from "../context.ts";
import { answers, windowOf } from "./answers.ts";
import { findMap } from "./find-map.ts";

/** GetMetadataAllocated: the ranges of a snapshot that may hold anything but zeros. */
export async function* getAllocated(
  driver: DriverContext,
  { snapshotId, startingOffset, maxResults }: v1.GetMetadataAllocatedRequest,
  { signal }: CallContext,
) {
  const { size, extents } = await findMap(driver, snapshotId, signal);
  const window = windowOf(startingOffset, size);
  yield* answers(allocatedRanges(extents(signal), window), size, maxResults);
}
