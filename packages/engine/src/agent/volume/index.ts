import type { ReconcileResult } from "@mooring/store";
import { type VolumeStatus, Volumes } from "../../api/volume.ts";
import type { AgentContext } from "../context.ts";
import { converge } from "../converge.ts";
import { reportFailure } from "../failure.ts";
import { applyVolumeStep } from "./apply.ts";
import { decide } from "./decide.ts";
import { readVolume, type VolumeReading } from "./read.ts";

const BLANK: VolumeStatus = { state: "creating", robustness: "unknown" };

/** Takes a volume of this node as far as it can go now. Throws, after reporting, when it has to be tried again. */
export async function reconcileVolume(context: AgentContext, name: string): Promise<ReconcileResult> {
  try {
    return await converge({
      read: () => readVolume(context, name),
      decide: (view: VolumeReading) => decide(view),
      apply: (step, view) => applyVolumeStep(context, step, view),
    });
  } catch (error) {
    await reportFailure(context, Volumes, name, error, BLANK);
    throw error;
  }
}
