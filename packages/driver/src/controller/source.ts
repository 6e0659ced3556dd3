import { CsiError } from "@mooring/csi";
import type { Snapshot, Volume, VolumeSource } from "@mooring/engine";
import type { ObjectStore } from "@mooring/store";
import { findSnapshot, findVolume } from "../objects/find.ts";

/** What CreateVolume reads of the volume or snapshot that it copies. */
export interface SourceFacts {
  pool: string;
  /** Bytes that a copy has at least. */
  size: bigint;
  /** File system on it, if one was ever made. */
  formatted: string | undefined;
}

/** Throws NOT_FOUND for a source that is not there, or that is about to go. */
export async function readSource(
  store: ObjectStore,
  { kind, name }: VolumeSource,
  signal: AbortSignal,
): Promise<SourceFacts> {
  const find = kind === "Snapshot" ? findSnapshot : findVolume;
  const source = await find(store, name, signal);
  if (source === undefined || source.metadata.deletionTimestamp !== undefined) {
    throw CsiError.notFound(`${kind.toLowerCase()} "${name}" does not exist`);
  }
  return isSnapshot(source) ? snapshotFacts(source) : volumeFacts(source);
}

const isSnapshot = (source: Snapshot | Volume): source is Snapshot => source.kind === "Snapshot";

function snapshotFacts({ metadata, spec, status }: Snapshot): SourceFacts {
  if (status?.readyToUse !== true) {
    throw CsiError.unavailable(`snapshot "${metadata.name}" is not ready to use yet`);
  }
  return { pool: spec.pool, size: BigInt(status.restoreSize ?? 0), formatted: status.formatted };
}

function volumeFacts({ metadata, spec, status }: Volume): SourceFacts {
  if (status?.size === undefined) {
    throw CsiError.unavailable(`volume "${metadata.name}" is still being created`);
  }
  return { pool: spec.pool, size: BigInt(status.size), formatted: status.formatted };
}
