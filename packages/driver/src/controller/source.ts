import { CsiError } from "@mooring/csi";
import type { Snapshot, Volume, VolumeSource } from "@mooring/engine";
import type { ObjectStore } from "@mooring/store";
import { findSnapshot, findVolume } from "./objects.ts";

/** What CreateVolume has to know of the volume or snapshot that it copies. */
export interface SourceFacts {
  pool: string;
  /** Bytes that a copy has at least. */
  size: bigint;
  /** File system on it, if one was ever made. */
  formatted: string | undefined;
  volumeMode: Volume["spec"]["volumeMode"] | undefined;
}

/** Throws NOT_FOUND for a source that is not there, or that is about to go. */
export async function readSource(
  store: ObjectStore,
  source: VolumeSource,
  signal: AbortSignal,
): Promise<SourceFacts> {
  return source.kind === "Snapshot"
    ? fromSnapshot(await findSnapshot(store, source.name, signal), source.name)
    : fromVolume(await findVolume(store, source.name, signal), source.name);
}

function fromSnapshot(snapshot: Snapshot | undefined, id: string): SourceFacts {
  if (snapshot === undefined || snapshot.metadata.deletionTimestamp !== undefined) {
    throw CsiError.notFound(`snapshot "${id}" does not exist`);
  }
  if (snapshot.status?.readyToUse !== true) {
    throw CsiError.unavailable(`snapshot "${id}" is not ready to use yet`);
  }
  const { restoreSize = 0, formatted } = snapshot.status;
  return { pool: snapshot.spec.pool, size: BigInt(restoreSize), formatted, volumeMode: undefined };
}

function fromVolume(volume: Volume | undefined, id: string): SourceFacts {
  if (volume === undefined || volume.metadata.deletionTimestamp !== undefined) {
    throw CsiError.notFound(`volume "${id}" does not exist`);
  }
  const { pool, size, volumeMode } = volume.spec;
  if (volume.status?.size === undefined) throw CsiError.unavailable(`volume "${id}" is still being created`);
  return { pool, size: BigInt(volume.status.size ?? size), formatted: volume.status.formatted, volumeMode };
}
