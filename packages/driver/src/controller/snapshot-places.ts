import { CsiError, type v1 } from "@mooring/csi";
import { type Pool, poolNodes, TOPOLOGY_NODE_KEY } from "@mooring/engine";
import type { DriverContext } from "../context.ts";
import { reaches } from "./choose-pool.ts";

/**
 * Where a snapshot is usable from: volumes made from it stay in its pool, so wherever that pool is. To a caller no place
 * at all means everywhere, which is so where there is one node for good; with more of them, a pool without a record of any
 * more responses with the node that made the snapshot.
 */
export function snapshotPlaces(
  { alone }: Pick<DriverContext, "alone">,
  pool: Pool | undefined,
  ownerID: string | undefined,
) {
  if (alone) return [];
  const nodes = pool === undefined ? [] : poolNodes(pool);
  const places = nodes.length > 0 || ownerID === undefined || ownerID === "" ? nodes : [ownerID];
  return places.map((node) => ({ segments: { [TOPOLOGY_NODE_KEY]: node } }));
}

/** A snapshot is made where its volume is: `requisite` is met there or nowhere, and `preferred` has no say. */
export function isUsableFrom(
  pool: Pool | undefined,
  accessibilityRequirements: v1.TopologyRequirement | undefined,
): boolean {
  const requisite = accessibilityRequirements?.requisite ?? [];
  return requisite.length === 0 || (pool !== undefined && requisite.some(reaches(pool)));
}

/** Throws RESOURCE_EXHAUSTED for a new snapshot that could not be where it is asked for (section "CreateSnapshot Errors"). */
export function requirePlace(
  pool: Pool | undefined,
  accessibilityRequirements: v1.TopologyRequirement | undefined,
): void {
  if (isUsableFrom(pool, accessibilityRequirements)) return;
  const nodes = pool === undefined ? "" : poolNodes(pool).join(", ");
  throw CsiError.resourceExhausted(
    `the snapshot would be usable from ${nodes === "" ? "no node" : `node ${nodes}`} only, not from the requisite topology`,
    { hint: "Snapshots stay in the pool of their volume: ask for its place, or for none." },
  );
}
