import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Informer, isDeleting, type Reader } from "@mooring/store";
import type { Snapshot } from "../../api/snapshot.ts";
import type { Volume } from "../../api/volume.ts";
import type { PoolLayout } from "../../pools/layout.ts";
import { fail } from "../../refused.ts";

/** So many are named; with more, a number has to do. */
const NAMED = 5;

/** A pool that has been made, and is not where its record says. */
export interface GonePool {
  /** Its folder, or the one that all nodes of it see. */
  folder: string;
  volumes: readonly string[];
  snapshots: readonly string[];
}

/** Whether there is a pool at its place. What is in a Ceph cluster is nowhere here. */
export function isPoolThere({ backing, shared, remote, images }: PoolLayout): boolean {
  if (remote) return true;
  return existsSync(backing?.file ?? (shared === undefined ? images : join(shared.source, "images")));
}

/**
 * The volumes and snapshots that were made in a pool of which nothing is there; undefined when that is none. One that is being
 * deleted is not needed any more.
 */
export function goneWith(
  layout: PoolLayout,
  pool: string,
  { reader, ...kinds }: { reader: Reader; volumes: Informer<Volume>; snapshots: Informer<Snapshot> },
): GonePool | undefined {
  if (isPoolThere(layout)) return undefined;
  const volumes = reader.over(kinds.volumes).byIndex("pool", pool);
  const snapshots = reader.over(kinds.snapshots).byIndex("pool", pool);
  const made = volumes.filter((volume) => volume.status?.size !== undefined && !isDeleting(volume));
  const taken = snapshots.filter(
    (snapshot) => snapshot.status?.creationTime !== undefined && !isDeleting(snapshot),
  );
  if (made.length + taken.length === 0) return undefined;
  return { folder: layout.shared?.source ?? layout.folder, volumes: named(made), snapshots: named(taken) };
}

const named = (objects: readonly (Volume | Snapshot)[]): string[] =>
  objects.map(({ metadata }) => metadata.name).sort();

/**
 * A new, empty pool in the place of one that is on a disk which is not mounted, or in a folder that was moved, would be a loss of all its
 * volumes.
 */
export function refuseAnew(pool: string, { folder, volumes, snapshots }: GonePool) {
  const what = `${count(volumes, "volume")} and ${count(snapshots, "snapshot")}`;
  const message = `pool ${pool} has ${what}, and there is no pool in ${folder}: none is made anew`;
  const objects = [
    ...volumes.map((name) => `volumes.storage.mooring.dev/${name}`),
    ...snapshots.map((name) => `snapshots.storage.mooring.dev/${name}`),
  ];
  const which = objects.length > NAMED ? "... with each of them" : objects.join(" ");
  const next = `mount its disk, or put its folder back, there; only if none of the data is needed: kubectl delete --wait=false ${which}`;
  return fail("FAILED_PRECONDITION", message, next);
}

const count = (names: readonly string[], what: string): string =>
  `${names.length} ${what}${names.length === 1 ? "" : "s"}`;
