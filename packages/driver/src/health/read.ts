import type { Volume } from "@mooring/engine";
import type { ObjectStore } from "@mooring/store";
import { findNode, findPool } from "../objects/find.ts";
import { neededNode } from "./volume-problems.ts";

/** What the objects record about one volume: what `volumeProblems` evaluates. */
export async function readHealthInput(store: ObjectStore, volume: Volume, signal: AbortSignal) {
  const pool = await findPool(store, volume.spec.pool, signal);
  const nodeID = neededNode(volume, pool);
  return { volume, pool, node: nodeID === undefined ? undefined : await findNode(store, nodeID, signal) };
}
