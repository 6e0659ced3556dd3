import { isConflict, isStatus } from "@mooring/store";

/** A decision to do nothing more now. */
export type Rest =
  | { do: "done" }
  /** Look again after that many milliseconds, or when something changes; infinite: only then. */
  | { do: "wait"; ms: number };

export const DONE: Rest = { do: "done" };

export interface StepLoop<View, Step extends { do: string }> {
  /** Reads what a decision needs. `fresh`: an earlier step met an outdated picture, so ask the server itself. */
  look(fresh: boolean): View | Promise<View>;
  /** Pure. */
  decide(view: View): Step | Rest;
  /** Makes one externally visible change. */
  apply(step: Step, view: View): Promise<void>;
}

/** A group has up to 100 members, and each takes a few steps. */
const MOST_STEPS = 500;
const MOST_CONFLICTS = 8;

/**
 * Look, decide, make one change, look again, until nothing is left to do. A conflict means that the picture was
 * old: it is nobody's error, so the loop looks again, harder.
 */
export async function runSteps<View, Step extends { do: string }>(
  loop: StepLoop<View, Step>,
  signal: AbortSignal,
): Promise<{ requeueAfterMs: number } | undefined> {
  let fresh = false;
  let conflicts = 0;
  for (let steps = 0; steps < MOST_STEPS; steps += 1) {
    signal.throwIfAborted();
    const view = await loop.look(fresh);
    const step = loop.decide(view);
    if (isRest(step))
      return step.do === "wait" && step.ms !== Infinity ? { requeueAfterMs: step.ms } : undefined;
    try {
      await loop.apply(step, view);
      fresh = false;
    } catch (error) {
      if (!isOutdatedPicture(error) || conflicts >= MOST_CONFLICTS) throw error;
      conflicts += 1;
      fresh = true;
    }
  }
  throw new Error(`no end after ${MOST_STEPS} steps`);
}

function isRest(step: { do: string }): step is Rest {
  return step.do === "done" || step.do === "wait";
}

/** The object moved on, went away, or is being deleted and takes no more finalizers. */
function isOutdatedPicture(error: unknown): boolean {
  return isConflict(error) || isStatus(error, "NotFound", "AlreadyExists");
}
