import { type CallContext, Code, CsiError, type v1 } from "@mooring/csi";
import { type Volume, Volumes } from "@mooring/engine";
import { failpoint, isAlreadyExists } from "@mooring/store";
import type { DriverContext } from "../context.ts";
import { fromEngine, nothingMade } from "../errors.ts";
import { findPool, findVolume } from "../objects/find.ts";
import { requireMovable } from "../objects/require-unmounted.ts";
import { parseVolumeRequest, type VolumeRequest } from "../request/volume-request.ts";
import { waitUntil } from "../wait.ts";
import { planVolume, requireSame } from "./plan-volume.ts";
import { volumeResponse } from "./responses.ts";
import { withdraw } from "./withdraw.ts";

const recorded = failpoint("driver/create-volume/volume-recorded");
const ready = failpoint("driver/create-volume/volume-ready");

/** Failures that another attempt with the same arguments would meet again, until something else changes. */
const FINAL = new Set([
  "INVALID_ARGUMENT",
  "NOT_FOUND",
  "FAILED_PRECONDITION",
  "RESOURCE_EXHAUSTED",
  "OUT_OF_RANGE",
  "DATA_LOSS",
]);

/**
 * CreateVolume. The Volume object, named by the request's name, is the record of the attempt: a second call finds it,
 * compares the arguments and waits for the same image. An attempt that cannot succeed takes its object away again, so that
 * the caller may try elsewhere under the same name.
 */
export async function createVolume(
  driver: DriverContext,
  request: v1.CreateVolumeRequest,
  { signal }: CallContext,
) {
  const done = await make(driver, parseVolumeRequest(request), signal);
  ready();
  return { volume: volumeResponse(done, await findPool(driver.store, done.spec.pool, signal)) };
}

/** A pool's report may be older than its last volumes: one that refuses is left out, and the next one tried. */
async function make(driver: DriverContext, request: VolumeRequest, signal: AbortSignal): Promise<Volume> {
  const full = new Set<string>();
  let refusal: unknown;
  for (;;) {
    const volume = await adoptOrCreate(driver, request, full, signal).catch((error: unknown) => {
      throw refusal ?? error;
    });
    try {
      return await untilReady(driver, volume, signal);
    } catch (error) {
      const { pool } = volume.spec;
      if (!(error instanceof CsiError) || error.code !== Code.RESOURCE_EXHAUSTED || full.has(pool))
        throw error;
      full.add(pool);
      refusal = error;
    }
  }
}

async function adoptOrCreate(
  driver: DriverContext,
  request: VolumeRequest,
  full: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Volume> {
  for (;;) {
    const present = await findVolume(driver.store, request.id, signal);
    if (present !== undefined) {
      await requireSame(driver, present, request, signal);
      // An earlier attempt failed for good and was interrupted before it could take its object away.
      if (!failedForGood(present)) return present;
      await withdraw(driver, Volumes, present, signal);
      continue;
    }
    const volume = await planVolume(driver, request, full, signal);
    try {
      const created = await driver.store.create(Volumes, volume, { signal });
      recorded();
      return created;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      throw CsiError.aborted(`volume "${request.name}" is being created by another call`);
    }
  }
}

const isReady = (volume: Volume | undefined): boolean =>
  volume?.status !== undefined && volume.status.state !== "creating" && volume.status.size !== undefined;

const failedForGood = (volume: Volume | undefined): boolean =>
  volume !== undefined && !isReady(volume) && FINAL.has(volume.status?.error?.code ?? "");

async function untilReady(
  driver: DriverContext,
  { metadata: { name, uid }, spec: { source } }: Volume,
  signal: AbortSignal,
): Promise<Volume> {
  const sources = source?.kind === "Volume" ? [source.name] : [];
  const volume = await waitUntil(
    driver.store,
    { resource: Volumes, name },
    {
      what: `volume "${name}" to be created`,
      until: (v) => v === undefined || v.metadata.uid !== uid || isReady(v) || failedForGood(v),
      describe: (v) =>
        v?.status?.error === undefined ? "" : `${v.status.error.code}: ${v.status.error.message}`,
      giveUp: () => requireMovable(driver, sources, signal),
    },
    signal,
  );
  if (
    volume === undefined ||
    volume.metadata.uid !== uid ||
    volume.metadata.deletionTimestamp !== undefined
  ) {
    throw CsiError.aborted(`volume "${name}" was deleted while it was being created`);
  }
  const error = volume.status?.error;
  if (!failedForGood(volume) || error === undefined) return volume;
  await withdraw(driver, Volumes, volume, signal);
  throw nothingMade(fromEngine(error));
}
