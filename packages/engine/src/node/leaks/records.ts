import type { Snapshot } from "../../api/snapshot.ts";
import type { Volume } from "../../api/volume.ts";
import type { PoolLayout } from "../../pools/layout.ts";

/** A pool of this node, open or not. */
export interface KnownPool {
  name: string;
  layout: PoolLayout;
}

/** What there is by the store, by name. */
export interface Records {
  volumes: Map<string, Volume>;
  snapshots: Map<string, Snapshot>;
}

/** Reads the objects as they are at that moment. */
export type ReadRecords = () => Promise<Records>;

/** True while the machine may have the volume's device or mounts. */
export function mayBeOpen(volume: Volume | undefined): boolean {
  const { state } = volume?.status ?? {};
  return state === "attaching" || state === "attached" || state === "detaching";
}
