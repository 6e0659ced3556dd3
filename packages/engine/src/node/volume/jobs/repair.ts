import { join } from "node:path";
import { failpoint, isConflict } from "@mooring/store";
import { MOST_ATTEMPTS } from "../../../api/attempts.ts";
import type { VolumeSalvage } from "../../../api/faults.ts";
import { hasConsent, pendingSalvage } from "../../../api/salvage.ts";
import { type VolumeStatus, Volumes } from "../../../api/volume.ts";
import { asRecorded, EngineError } from "../../../errors.ts";
import { repairBlocks } from "../../../host/blocks.ts";
import { FILESYSTEM_TYPES, type RepairResult, repairFilesystem } from "../../../host/filesystems.ts";
import type { AgentContext } from "../../context.ts";
import type { OpenPool } from "../../open-pools.ts";
import type { VolumeReading } from "../read.ts";
import { howToConsent } from "./consent.ts";

const repaired = failpoint("engine/volume/repaired");

/** Checks, and repairs as far as that is allowed, what has failed; then reports what became of the data. */
export async function repair(context: AgentContext, view: VolumeReading, pool: OpenPool): Promise<void> {
  const fault = pendingSalvage(view.volume);
  if (fault === undefined || view.device === undefined) return;
  const finishedAt = context.host.clock.now().toISOString();
  try {
    const found = await check(context, view, pool, fault);
    repaired();
    await conclude(context, view, fault, { found, finishedAt });
  } catch (error) {
    if (isConflict(error)) throw error;
    const failures = (fault.failures ?? 0) + 1;
    const state = failures < MOST_ATTEMPTS ? fault.state : "Failed";
    const { message } = asRecorded(error);
    await write(context, view, { salvage: { ...fault, state, failures, failedAt: finishedAt, message } });
    throw error;
  }
}

async function check(
  { host, signal }: AgentContext,
  { volume, device, file }: VolumeReading,
  pool: OpenPool,
  { cause }: VolumeSalvage,
): Promise<RepairResult> {
  const { name } = volume.metadata;
  const { size = 0, formatted } = volume.status ?? {};
  const consent = hasConsent(volume);
  const path = device?.path ?? "";
  if (cause === "image-cut" && (file?.size ?? 0) < size) {
    // The part that is missing reads as zeros from here on; whose bytes they were, the file system has recorded.
    await pool.backend.grow(name, size);
    await host.loops.refresh(path);
  }
  const type = FILESYSTEM_TYPES.find((known) => known === formatted);
  if (formatted !== undefined && type === undefined) {
    throw new EngineError("FAILED_PRECONDITION", `this machine has no program that checks ${formatted}`);
  }
  if (type === undefined) {
    const truncated = cause === "image-cut";
    const image = file?.path ?? "";
    const found = await repairBlocks({ exec: host.exec, device: path, image, size, consent, signal });
    return truncated && found.outcome === "clean" ? { ...found, outcome: "repaired" } : found;
  }
  const scratch = join(pool.layout.folder, `repairing-${name}`);
  return repairFilesystem({
    ...{ exec: host.exec, mounts: host.mounts, device: path, type },
    consent,
    scratch,
  });
}

async function conclude(
  context: AgentContext,
  view: VolumeReading,
  fault: VolumeSalvage,
  { found: { outcome, report }, finishedAt }: { found: RepairResult; finishedAt: string },
): Promise<void> {
  const { volume } = view;
  const { failures: _, failedAt: __, ...rest } = fault;
  const { name } = volume.metadata;
  if (outcome === "unsafe") {
    const message = `${report}; ${howToConsent(name, fault.faultedAt)}`;
    const consented = hasConsent(volume);
    const salvage = { ...rest, state: consented ? ("Failed" as const) : ("NeedsConsent" as const), message };
    await write(context, view, { salvage, error: { code: "DATA_LOSS", message } });
    context.events.event(volume, "Warning", "SalvageNeedsConsent", message);
    return;
  }
  const dataLoss = hasConsent(volume);
  const salvage: VolumeSalvage = {
    ...rest,
    state: outcome === "clean" ? "Clean" : "Repaired",
    ...{ message: report, finishedAt },
    ...(dataLoss ? { dataLoss } : {}),
  };
  // What the last health check found was before this.
  context.faults.delete(name);
  // Whatever a workload still has from before the fault is dead.
  await write(context, view, { salvage, robustness: "unknown", remountRequestedAt: finishedAt });
  const loss = dataLoss ? "; files may be missing or old, as was consented to" : "";
  context.events.event(
    volume,
    dataLoss ? "Warning" : "Normal",
    "Salvaged",
    `${salvage.state}: ${report}${loss}`,
  );
}

function write(
  { store, signal }: AgentContext,
  { volume }: VolumeReading,
  change: Partial<VolumeStatus>,
): Promise<unknown> {
  const { error: _, ...present } = volume.status ?? { state: "attached" as const };
  return store.updateStatus(Volumes, { ...volume, status: { ...present, ...change } }, { signal });
}
