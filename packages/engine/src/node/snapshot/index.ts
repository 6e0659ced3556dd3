import type { ReconcileResult } from "@mooring/store";
import { Snapshots } from "../../api/snapshot.ts";
import { converge } from "../../converge.ts";
import type { AgentContext } from "../context.ts";
import { reportFailure } from "../failure.ts";
import { applySnapshotStep } from "./apply.ts";
import { decide, type SnapshotView } from "./decide.ts";
import { readSnapshot } from "./read.ts";

/** Takes a snapshot of this node as far as it can go now. Throws, after reporting, when it has to be tried again. */
export async function reconcileSnapshot(context: AgentContext, name: string): Promise<ReconcileResult> {
  try {
    return await converge({
      read: () => readSnapshot(context, name),
      decide: (view: SnapshotView) => decide(view),
      apply: (step, view) => applySnapshotStep(context, step, view),
    });
  } catch (error) {
    await reportFailure(context, Snapshots, name, error, { readyToUse: false }, { count: true });
    throw error;
  }
}
