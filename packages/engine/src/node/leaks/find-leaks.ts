import { listAll, type ObjectStore } from "@mooring/store";
import { isShared, Pools } from "../../api/pool.ts";
import { Snapshots } from "../../api/snapshot.ts";
import { Volumes } from "../../api/volume.ts";
import type { Host } from "../../host/host.ts";
import { layoutOf } from "../pool/layout-of.ts";
import { leakedDevices } from "./devices.ts";
import { leakedImages } from "./images.ts";
import type { ExplainMount, Leak } from "./leak.ts";
import { leakedMounts } from "./mounts.ts";
import { strayPools } from "./pools.ts";
import type { KnownPool } from "./records.ts";

/** Where leaks are searched for; nothing is changed. */
export interface FindLeaksOptions {
  store: ObjectStore;
  host: Host;
  /** Absolute folder of this node's state. */
  stateDir: string;
  /** Only pools of this node; absent: all, for one machine with one store. */
  nodeID?: string;
  /** Mounts below the state folder that belong to another part of Mooring. */
  explains?: ExplainMount;
}

/**
 * Compares what is on this machine with what the objects record. Reads only, needs no open pool, and may run beside an
 * agent: what changes meanwhile is read a second time before it is called a leak.
 */
export async function findLeaks(options: FindLeaksOptions): Promise<Leak[]> {
  const { store, host, stateDir, nodeID, explains } = options;
  const pools = (await listAll(store, Pools)).items.filter(
    (pool) => nodeID === undefined || isShared(pool) || pool.spec.nodeID === nodeID,
  );
  const known: KnownPool[] = pools.map((pool) => ({
    name: pool.metadata.name,
    layout: layoutOf({ stateDir }, pool),
  }));
  const records = async () => ({
    volumes: new Map((await listAll(store, Volumes)).items.map((v) => [v.metadata.name, v])),
    snapshots: new Map((await listAll(store, Snapshots)).items.map((s) => [s.metadata.name, s])),
  });
  return [
    ...(await leakedImages(host, known, records)),
    ...(await leakedDevices(host, known, stateDir, records)),
    ...(await leakedMounts(host, known, stateDir, { read: records, explains: explains ?? (() => false) })),
    ...(await strayPools(stateDir, known)),
  ];
}
