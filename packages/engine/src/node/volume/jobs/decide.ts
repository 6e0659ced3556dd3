import { type Outcome, wait } from "@mooring/store";
import type { AttacherType } from "../../../api/attachment.ts";
import { untilRetry } from "../../../api/attempts.ts";
import { awaitsCommit, pendingExpansion, pendingRestore } from "../../../api/pending.ts";
import { pendingSalvage } from "../../../api/salvage.ts";
import type { JobStep, VolumeView } from "../view.ts";

/** The job that a ticket is for, when it is due. */
type Job = (view: VolumeView) => JobStep | Outcome | undefined;

/** In the order in which they are done when several have tickets: new bytes first, then what depends on them. */
const JOBS: readonly [AttacherType, Job][] = [
  ["volume-restore-controller", restore],
  ["salvage-controller", repair],
  ["volume-expansion-controller", expansion],
];

/**
 * The work that a volume was opened for, while no workload can reach its device. Nothing happens without the ticket of
 * the service that asked for it: others may have tickets of the volume at the same time.
 */
export function jobStep(view: VolumeView): JobStep | Outcome | undefined {
  for (const [type, job] of JOBS) {
    const step = view.jobs.includes(type) ? job(view) : undefined;
    if (step !== undefined) return step;
  }
  return undefined;
}

/** True when the volume's bytes are about to be replaced, so that it does not matter that they are lost. */
export function isAboutToRestore(view: VolumeView): boolean {
  const { volume, jobs } = view;
  const wanted = pendingRestore(volume) !== undefined && !awaitsCommit(volume);
  return wanted && jobs.includes("volume-restore-controller");
}

/** True when what is left of the volume's bytes is about to be repaired. */
export function isAboutToRepair(view: VolumeView): boolean {
  return (
    view.jobs.includes("salvage-controller") &&
    view.image !== undefined &&
    pendingSalvage(view.volume) !== undefined
  );
}

function repair(view: VolumeView): JobStep | Outcome | undefined {
  const fault = pendingSalvage(view.volume);
  if (fault === undefined || view.device === undefined) return undefined;
  return due(untilRetry(fault, view.now), { do: "repair" });
}

function restore(view: VolumeView): JobStep | Outcome | undefined {
  const { volume, now } = view;
  if (pendingRestore(volume) === undefined || awaitsCommit(volume)) return undefined;
  return due(untilRetry(volume.status?.restore ?? {}, now), { do: "restore-image" });
}

function expansion(view: VolumeView): JobStep | Outcome | undefined {
  const { volume, image, device, now } = view;
  const wanted = pendingExpansion(volume);
  if (wanted === undefined || device === undefined || device.sizeBytes < (image?.size ?? 0)) return undefined;
  return due(untilRetry(volume.status?.expansion ?? {}, now), { do: "grow-filesystem" });
}

function due(afterMs: number, step: JobStep): JobStep | Outcome {
  return afterMs > 0 ? wait(afterMs) : step;
}
