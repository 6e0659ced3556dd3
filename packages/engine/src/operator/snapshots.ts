import { randomUUID } from "node:crypto";
import { defined, isAlreadyExists, isNotFound, type ObjectStore } from "@mooring/store";
import { MOORING_API_VERSION, VOLUME_LABEL } from "../api/names.ts";
import { type Snapshot, Snapshots } from "../api/snapshot.ts";
import { Volumes } from "../api/volume.ts";
import { EngineError } from "../errors.ts";
import { findVolume } from "./attach.ts";

/** What a snapshot made by an operator remembers; one made through CSI has `parameters` there. */
interface OperatorRequest {
  name: string;
  labels: Record<string, string>;
}

const NAME = /^[a-z0-9](?:[a-z0-9-]{0,58}[a-z0-9])?$/;

/** The object's name: the operator's, with the prefix that ids of snapshots have. Throws INVALID_ARGUMENT. */
function snapshotObjectName(name: string): string {
  const rest = name.startsWith("s-") ? name.slice(2) : name;
  if (NAME.test(rest)) return `s-${rest}`;
  throw new EngineError("INVALID_ARGUMENT", `${JSON.stringify(name.slice(0, 80))} is not a snapshot name`, {
    hint: "Use up to 60 of a-z, 0-9 and '-', with a letter or digit at both ends.",
  });
}

/** The name that an operator gave it. */
export function snapshotNameOf({ metadata, spec }: Snapshot): string {
  return operatorRequest(spec.request)?.name ?? metadata.name;
}

/** The labels that its maker gave to a snapshot. */
export function snapshotLabelsOf({ spec }: Snapshot): Record<string, string> {
  return operatorRequest(spec.request)?.labels ?? {};
}

function operatorRequest(request: Record<string, unknown> | undefined): OperatorRequest | undefined {
  const { name, labels } = request ?? {};
  if (typeof name !== "string" || typeof labels !== "object" || labels === null) return undefined;
  return { name, labels: labels as Record<string, string> };
}

/** Writes a Snapshot, which the node's agent makes. The same request again returns the same snapshot. */
export async function createSnapshotOf(
  store: ObjectStore,
  volumeName: string,
  wish: { name?: string; labels?: Record<string, string> },
  signal?: AbortSignal,
): Promise<Snapshot> {
  const volume = await findVolume(store, volumeName, signal);
  const name = wish.name || `snap-${randomUUID().slice(0, 8)}`;
  const { labels = {} } = wish;
  if (volume.metadata.deletionTimestamp !== undefined || volume.status?.robustness === "faulted") {
    const why = volume.metadata.deletionTimestamp === undefined ? "faulted" : "being deleted";
    throw new EngineError("FAILED_PRECONDITION", `volume "${volumeName}" is ${why}`);
  }
  const request: OperatorRequest = { name, labels };
  const snapshot: Snapshot = {
    apiVersion: MOORING_API_VERSION,
    kind: Snapshots.kind,
    metadata: { name: snapshotObjectName(name), labels: { [VOLUME_LABEL]: volumeName } },
    spec: { volume: volumeName, pool: volume.spec.pool, request: { ...request } },
  };
  try {
    return await store.create(Snapshots, snapshot, defined({ signal }));
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return sameSnapshot(await findSnapshotOf(store, volumeName, name, signal), labels);
  }
}

function sameSnapshot(present: Snapshot, labels: Record<string, string>): Snapshot {
  const text = (of: Record<string, string>) => JSON.stringify(Object.entries(of).sort());
  if (text(snapshotLabelsOf(present)) === text(labels)) return present;
  throw new EngineError("ALREADY_EXISTS", `snapshot "${snapshotNameOf(present)}" exists with other labels`, {
    hint: "Use another name.",
  });
}

/** Throws NOT_FOUND, also for a snapshot of another volume. */
export async function findSnapshotOf(
  store: ObjectStore,
  volume: string,
  name: string,
  signal?: AbortSignal,
): Promise<Snapshot> {
  const missing = new EngineError("NOT_FOUND", `volume "${volume}" has no snapshot "${name}"`);
  const found = await store
    .get(Snapshots, { name: snapshotObjectName(name) }, signal)
    .catch((error: unknown) => {
      throw isNotFound(error) ? missing : error;
    });
  if (found.spec.volume !== volume) {
    throw new EngineError("ALREADY_EXISTS", `snapshot "${name}" is one of volume "${found.spec.volume}"`, {
      hint: "Names of snapshots are unique over all volumes: use another one.",
    });
  }
  return found;
}

/** Oldest first. */
export async function listSnapshotsOf(
  store: ObjectStore,
  volume: string,
  signal?: AbortSignal,
): Promise<Snapshot[]> {
  await findVolume(store, volume, signal);
  const { items } = await store.list(Snapshots, defined({ signal }));
  const time = ({ metadata }: Snapshot) => metadata.creationTimestamp ?? "";
  const own = items.filter(({ spec }) => spec.volume === volume);
  return own.sort((a, b) => time(a).localeCompare(time(b)) || (a.metadata.name < b.metadata.name ? -1 : 1));
}

/** Deletes a snapshot; one that is not there is deleted already. One made through CSI belongs to its VolumeSnapshot. */
export async function deleteSnapshotOf(
  store: ObjectStore,
  volume: string,
  name: string,
  signal?: AbortSignal,
): Promise<void> {
  await findVolume(store, volume, signal);
  const snapshot = await findSnapshotOf(store, volume, name, signal).catch((error: unknown) => {
    if (error instanceof EngineError && error.code === "NOT_FOUND") return undefined;
    throw error;
  });
  if (snapshot === undefined) return;
  if (snapshot.spec.request?.parameters !== undefined) {
    throw new EngineError("FAILED_PRECONDITION", `snapshot "${name}" was made through CSI`, {
      hint: "Delete the VolumeSnapshot that it belongs to.",
    });
  }
  await requireNoRestore(store, snapshot, signal);
  const uid = snapshot.metadata.uid ?? "";
  await store
    .delete(
      Snapshots,
      { name: snapshot.metadata.name },
      { preconditions: { uid }, ...(signal && { signal }) },
    )
    .catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
}

/** Volumes made from it stand on their own; only one that is still being made needs it. */
async function requireNoRestore(store: ObjectStore, snapshot: Snapshot, signal?: AbortSignal): Promise<void> {
  const { items } = await store.list(Volumes, defined({ signal }));
  const restoring = items.find(
    ({ spec, status }) =>
      spec.source?.kind === "Snapshot" &&
      spec.source.name === snapshot.metadata.name &&
      status?.size === undefined,
  );
  if (restoring === undefined) return;
  const message = `snapshot "${snapshotNameOf(snapshot)}" is being restored to volume "${restoring.metadata.name}"`;
  throw new EngineError("FAILED_PRECONDITION", message, { hint: "Try again when that volume is ready." });
}
