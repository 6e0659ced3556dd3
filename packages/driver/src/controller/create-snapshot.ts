import { type CallContext, CsiError, type v1 } from "@mooring/csi";
import {
  ENGINE_FINALIZER,
  MOORING_API_VERSION,
  type Pool,
  type Snapshot,
  Snapshots,
  type Volume,
} from "@mooring/engine";
import { failpoint, isAlreadyExists } from "@mooring/store";
import type { DriverContext } from "../context.ts";
import { fromEngine, nothingMade } from "../errors.ts";
import { snapshotIdOf } from "../names.ts";
import { CREATED_AT, findPool, findSnapshot, getVolume } from "../objects/find.ts";
import { requireMovable } from "../objects/require-unmounted.ts";
import { waitUntil } from "../wait.ts";
import { snapshotResponse } from "./responses.ts";
import { isUsableFrom, requirePlace } from "./snapshot-places.ts";
import { withdraw } from "./withdraw.ts";

const recorded = failpoint("driver/create-snapshot/snapshot-recorded");
const ready = failpoint("driver/create-snapshot/snapshot-ready");

/** Failures that the same request would meet again. */
const FINAL = new Set([
  "INVALID_ARGUMENT",
  "NOT_FOUND",
  "FAILED_PRECONDITION",
  "RESOURCE_EXHAUSTED",
  "DATA_LOSS",
]);

interface SnapshotRequest extends Record<string, unknown> {
  name: string;
  parameters: Record<string, string>;
}

/** CreateSnapshot. Returns when the snapshot is made and on disk; there is no upload after it. */
export async function createSnapshot(
  driver: DriverContext,
  request: v1.CreateSnapshotRequest,
  { signal }: CallContext,
) {
  if (request.name === "") throw CsiError.invalidArgument("name is required");
  if (request.sourceVolumeId === "") throw CsiError.invalidArgument("source_volume_id is required");
  requireNoParameters(request.parameters);
  const snapshot = await untilReady(driver, await adoptOrCreate(driver, request, signal), signal);
  ready();
  return {
    snapshot: snapshotResponse(driver, snapshot, await findPool(driver.store, snapshot.spec.pool, signal)),
  };
}

/** The Kubernetes snapshotter adds what it has of the claim; nothing else means anything here. */
function requireNoParameters(parameters: Record<string, string>): void {
  const unknown = Object.keys(parameters).find((key) => !key.startsWith("csi.storage.k8s.io/"));
  if (unknown === undefined) return;
  throw CsiError.invalidArgument(`snapshot parameter "${unknown}" is not known`, {
    hint: "Remove it from the request or the VolumeSnapshotClass: snapshots have no parameters.",
  });
}

async function adoptOrCreate(
  driver: DriverContext,
  request: v1.CreateSnapshotRequest,
  signal: AbortSignal,
): Promise<Snapshot> {
  const id = snapshotIdOf(request.name);
  for (;;) {
    const present = await findSnapshot(driver.store, id, signal);
    if (present !== undefined) {
      requireSame(present, request, await findPool(driver.store, present.spec.pool, signal));
      if (!failedForGood(present)) return present;
      await withdraw(driver, Snapshots, present, signal);
      continue;
    }
    const volume = await getVolume(driver.store, request.sourceVolumeId, signal);
    if (volume.metadata.deletionTimestamp !== undefined) {
      throw CsiError.notFound(`volume "${request.sourceVolumeId}" is being deleted`);
    }
    requirePlace(await findPool(driver.store, volume.spec.pool, signal), request.accessibilityRequirements);
    try {
      const created = await driver.store.create(Snapshots, snapshotObject(driver, id, request, volume), {
        signal,
      });
      recorded();
      return created;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      throw CsiError.aborted(`snapshot "${request.name}" is being created by another call`);
    }
  }
}

function requireSame(present: Snapshot, request: v1.CreateSnapshotRequest, pool: Pool | undefined): void {
  const id = present.metadata.name;
  if (present.metadata.deletionTimestamp !== undefined) {
    throw CsiError.aborted(`snapshot "${id}" of this name is being deleted`);
  }
  if (present.spec.volume !== request.sourceVolumeId) {
    throw CsiError.alreadyExists(
      `snapshot "${request.name}" exists, but of volume "${present.spec.volume}"`,
      {
        hint: "Use another name: snapshot names are unique over all volumes.",
      },
    );
  }
  if (!isUsableFrom(pool, request.accessibilityRequirements)) {
    throw CsiError.alreadyExists(
      `snapshot "${request.name}" exists, but is not usable from the requisite topology`,
    );
  }
}

function snapshotObject(
  driver: DriverContext,
  id: string,
  request: v1.CreateSnapshotRequest,
  volume: Volume,
): Snapshot {
  const stored: SnapshotRequest = { name: request.name, parameters: request.parameters };
  return {
    apiVersion: MOORING_API_VERSION,
    kind: "Snapshot",
    metadata: {
      name: id,
      finalizers: [ENGINE_FINALIZER],
      annotations: { [CREATED_AT]: driver.host.clock.now().toISOString() },
    },
    spec: { volume: volume.metadata.name, pool: volume.spec.pool, request: stored },
  };
}

const isReady = (snapshot: Snapshot | undefined): boolean => snapshot?.status?.readyToUse === true;
const failedForGood = (snapshot: Snapshot | undefined): boolean =>
  snapshot !== undefined &&
  snapshot.status?.creationTime === undefined &&
  FINAL.has(snapshot.status?.error?.code ?? "");

async function untilReady(
  driver: DriverContext,
  { metadata: { name, uid }, spec }: Snapshot,
  signal: AbortSignal,
) {
  const snapshot = await waitUntil(
    driver.store,
    { resource: Snapshots, name },
    {
      what: `snapshot "${name}" to be made`,
      until: (s) =>
        s === undefined ||
        s.metadata.uid !== uid ||
        isReady(s) ||
        s.status?.error?.code === "DATA_LOSS" ||
        failedForGood(s),
      describe: (s) => s?.status?.error?.message ?? "",
      giveUp: () => requireMovable(driver, [spec.volume], signal),
    },
    signal,
  );
  if (snapshot === undefined || snapshot.metadata.uid !== uid) {
    throw CsiError.aborted(`snapshot "${name}" was deleted while it was being made`);
  }
  const error = snapshot.status?.error;
  if (isReady(snapshot) || error === undefined) return snapshot;
  // Lost before the caller had it: what is left of it helps nobody, and whoever asked for it could never delete it.
  if (!failedForGood(snapshot) && error.code !== "DATA_LOSS") throw fromEngine(error);
  await withdraw(driver, Snapshots, snapshot, signal);
  throw nothingMade(fromEngine(error));
}
