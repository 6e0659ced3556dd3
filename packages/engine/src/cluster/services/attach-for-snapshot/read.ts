import { getIfAny, isDeleting, type Reader } from "@mooring/store";
import { Snapshots } from "../../../api/snapshot.ts";
import { Volumes } from "../../../api/volume.ts";
import type { ServicesContext } from "../context.ts";
import type { SnapshotTicketView } from "./decide.ts";

/** Reads a snapshot, and the volume that it is to be made of. */
export async function readSnapshot(
  { now, signal }: ServicesContext,
  store: Reader["store"],
  name: string,
): Promise<SnapshotTicketView | undefined> {
  // Read anew: a cache that lags behind would give a ticket to a snapshot that is made already.
  const snapshot = await getIfAny(store, Snapshots, { name }, signal);
  // The arbiter removes the ticket of a snapshot that is gone.
  if (snapshot === undefined) return undefined;
  // What is made, or going, needs the volume no more, and is not to be woken by it.
  const over = isDeleting(snapshot) || snapshot.status?.creationTime !== undefined;
  const volume = over ? undefined : await getIfAny(store, Volumes, { name: snapshot.spec.volume }, signal);
  return { snapshot, volume, now: now() };
}
