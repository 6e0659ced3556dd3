import type { ReconcileResult } from "@mooring/store";
import { type VolumeStatus, Volumes } from "../../api/volume.ts";
import { converge } from "../../converge.ts";
import type { AgentContext } from "../context.ts";
import { reportFailure } from "../failure.ts";
import { reconcileMigration } from "../migration/index.ts";
import { LeaseHeld } from "../sharing/take-lease.ts";
import { applyVolumeStep } from "./apply.ts";
import { decide } from "./decide.ts";
import { readVolume, type VolumeReading } from "./read.ts";
import { letGo } from "./release-lease.ts";

/** A lease that is given back tells by itself; one that runs out has to be looked at. */
const LEASE_RETRY_MS = 2000;
const BLANK: VolumeStatus = { state: "creating", robustness: "unknown" };

/** Takes a volume of this node as far as it can go now. Throws, after reporting, when it has to be tried again. */
export async function reconcileVolume(context: AgentContext, name: string): Promise<ReconcileResult> {
  try {
    await reconcileMigration(context, name);
    const result = await converge({
      read: () => readVolume(context, name),
      decide: (view: VolumeReading) => decide(view),
      apply: (step, view) => applyVolumeStep(context, step, view),
    });
    await letGo(context, name);
    return result;
  } catch (error) {
    if (error instanceof LeaseHeld) return { requeueAfterMs: Math.min(LEASE_RETRY_MS, error.retryAfterMs) };
    await reportFailure(context, Volumes, name, error, BLANK);
    throw error;
  }
}
