import { defined, describeBytes, failpoint, isConflict } from "@mooring/store";
import { MOST_ATTEMPTS } from "../../../api/attempts.ts";
import type { VolumeSalvage } from "../../../api/faults.ts";
import { isCommitted, pendingRestore } from "../../../api/pending.ts";
import { isFaulted } from "../../../api/salvage.ts";
import { Snapshots } from "../../../api/snapshot.ts";
import { type VolumeRestore, type VolumeStatus, Volumes } from "../../../api/volume.ts";
import { asRecorded, EngineError } from "../../../errors.ts";
import { growUnmounted } from "../../../host/filesystems.ts";
import type { Image } from "../../../pools/image.ts";
import type { AgentContext } from "../../context.ts";
import { copyKey } from "../../copy/copies.ts";
import type { OpenPool } from "../../open-pools.ts";
import type { VolumeReading } from "../read.ts";
import { damageOf } from "../statuses.ts";
import type { JobStep } from "../view.ts";
import { repair } from "./repair.ts";

const swapped = failpoint("engine/volume/image-restored");
const grown = failpoint("engine/volume/filesystem-grown");

type Work = (context: AgentContext, view: VolumeReading, pool: OpenPool) => Promise<void>;

/** Every job can be done again from its start: a kill before its record only repeats it. */
const WORK: Readonly<Record<JobStep["do"], Work>> = {
  "restore-image": restoreImage,
  repair,
  "grow-filesystem": growFilesystem,
};

/** Makes one step of a job on a volume that is attached to this node. */
export function applyJob(
  context: AgentContext,
  step: JobStep,
  view: VolumeReading,
  pool: OpenPool,
): Promise<void> {
  return WORK[step.do](context, view, pool);
}

async function restoreImage(context: AgentContext, view: VolumeReading, pool: OpenPool): Promise<void> {
  const wanted = pendingRestore(view.volume);
  if (wanted === undefined) return;
  const finishedAt = context.host.clock.now().toISOString();
  const done: VolumeRestore = { ...wanted, state: "Restored", finishedAt };
  try {
    await swap(context, view, { pool, name: wanted.snapshot }, done);
  } catch (error) {
    // Another client wrote meanwhile: that is no failure of the job, which is done again.
    if (isConflict(error)) throw error;
    const { message } = asRecorded(error);
    const failures = (view.volume.status?.restore?.failures ?? 0) + 1;
    const goesOn = failures < MOST_ATTEMPTS || isCommitted(view.volume);
    const state = goesOn ? "Pending" : "Failed";
    await record(context, view, { restore: { ...wanted, state, failures, failedAt: finishedAt, message } });
    throw error;
  }
  context.events.event(view.volume, "Normal", "Restored", `restored from snapshot ${wanted.snapshot}`);
}

async function swap(
  context: AgentContext,
  view: VolumeReading,
  { pool, name }: { pool: OpenPool; name: string },
  restore: VolumeRestore,
): Promise<void> {
  const { store, signal, copies } = context;
  const { volume, loop } = view;
  const { name: id } = volume.metadata;
  const snapshot = await store.get(Snapshots, { name }, signal);
  if (snapshot.status?.readyToUse !== true) {
    throw new EngineError("UNAVAILABLE", `snapshot ${name} is not ready to use`);
  }
  await copies.without(copyKey(pool.name, id), async () => {
    if (loop !== undefined) await pool.backend.devices.detach(loop);
    const request = `${snapshot.metadata.uid} ${restore.request ?? ""}`;
    const there = await restoredBefore(view, pool, request);
    const size = volume.status?.size ?? 0;
    const image = there ?? (await pool.backend.replace(name, id, size, { signal, request }));
    swapped();
    const discard = image.thick !== true;
    const opened = pool.backend.block
      ? await pool.backend.devices.attach(image, { discard })
      : { path: image.path };
    const { formatted: _, error: __, ...status } = volume.status ?? { state: "attached" as const };
    const { formatted } = snapshot.status ?? {};
    const smaller = formatted === "ext4" && (snapshot.status?.restoreSize ?? image.size) < image.size;
    const next: VolumeStatus = {
      ...status,
      // What is on the device is what the snapshot had: no agent may format it, or take it for formatted.
      ...defined({ formatted }),
      ...(smaller ? { expansion: { size: image.size } } : {}),
      ...(status.state === "attached" ? { device: opened.path } : {}),
      ...(status.salvage === undefined ? {} : { salvage: replaced(status.salvage, name) }),
      robustness: status.state === "attached" ? "healthy" : "unknown",
      size: image.size,
      restore,
    };
    await store.updateStatus(Volumes, { ...volume, status: next }, { signal });
  });
}

/**
 * The image that this request has put there already, where only the record of that is missing: a copy of the state from before
 * was put back. What has been written since must not be replaced once more.
 */
async function restoredBefore(
  view: VolumeReading,
  { backend }: OpenPool,
  request: string,
): Promise<Image | undefined> {
  const { name } = view.volume.metadata;
  if (damageOf(view) !== undefined || isFaulted(view.volume)) return undefined;
  return (await backend.requestOf(name)) === request ? backend.find(name) : undefined;
}

/** The record of a volume whose damaged image was replaced by a snapshot's. */
function replaced(salvage: VolumeSalvage, snapshot: string): VolumeSalvage {
  const { failures: _, failedAt: __, ...rest } = salvage;
  return { ...rest, state: "Repaired", message: `replaced by snapshot ${snapshot}` };
}

async function growFilesystem(context: AgentContext, view: VolumeReading): Promise<void> {
  const { volume, device } = view;
  const { expansion, ...status } = volume.status ?? { state: "attached" as const };
  if (device === undefined || expansion === undefined) return;
  try {
    await growUnmounted(context.host.exec, device.path, "ext4");
  } catch (error) {
    // Another client wrote meanwhile: that is no failure of the job, which is done again.
    if (isConflict(error)) throw error;
    const failures = (expansion.failures ?? 0) + 1;
    const failedAt = context.host.clock.now().toISOString();
    const { message } = asRecorded(error);
    await record(context, view, { expansion: { ...expansion, failures, failedAt, message } });
    throw error;
  }
  grown();
  const { store, signal, events } = context;
  await store.updateStatus(Volumes, { ...volume, status }, { signal });
  events.event(volume, "Normal", "Expanded", `the file system has ${describeBytes(expansion.size)}`);
}

function record(
  context: AgentContext,
  { volume }: VolumeReading,
  change: Partial<VolumeStatus>,
): Promise<unknown> {
  const status: VolumeStatus = { ...(volume.status ?? { state: "attached" }), ...change };
  return context.store.updateStatus(Volumes, { ...volume, status }, { signal: context.signal });
}
