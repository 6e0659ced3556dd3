import { DONE, isConflict, type Outcome, type ReconcileResult, wait } from "@mooring/store";
import { EngineError, type EngineErrorCode } from "./errors.ts";

/** Nothing is left to do, or nothing can be done until something changes. */
export type EndStep =
  | { do: "rest"; afterMs?: number }
  | { do: "fail"; code: EngineErrorCode; message: string; hint?: string };

export const REST: EndStep = { do: "rest" };

export function fail(code: EngineErrorCode, message: string, hint?: string): EndStep {
  return { do: "fail", code, message, ...(hint === undefined ? {} : { hint }) };
}

/** A decision as the loop of the store takes it. */
export function asOutcome<Step extends { do: string }>(step: Step): Exclude<Step, EndStep> | Outcome {
  if (!isEnd(step)) return step as Exclude<Step, EndStep>;
  if (step.do === "fail") return step;
  return step.afterMs === undefined ? DONE : wait(step.afterMs);
}

/** What a `fail` says, thrown. */
export function failure(step: Extract<Outcome, { do: "fail" }>): EngineError {
  const { code, message, hint } = step;
  // Sound: only decisions of ours come here.
  return new EngineError(code as EngineErrorCode, message, hint === undefined ? {} : { hint });
}

/** More steps than any object needs; a decision that does not settle must not hold a worker for ever. */
const MOST_STEPS = 40;

interface Loop<View, Step extends { do: string }> {
  /** Undefined: the object is gone, or not ours. */
  read(): Promise<View | undefined>;
  decide(view: View): Step;
  apply(step: Exclude<Step, EndStep>, view: View): Promise<void>;
  /** Default 40. */
  mostSteps?: number;
}

/**
 * Read, decide, take one step, read again, until the decision is to rest; `afterMs` is when to look again without any
 * event. Throws what a step or a `fail` says.
 */
export async function converge<View, Step extends { do: string }>(
  loop: Loop<View, Step>,
): Promise<ReconcileResult> {
  const { mostSteps = MOST_STEPS } = loop;
  const taken: string[] = [];
  for (let steps = 0; steps < mostSteps; steps++) {
    const view = await loop.read();
    if (view === undefined) return {};
    const step = loop.decide(view);
    if (isEnd(step)) return ended(step);
    taken.push(nameOf(step));
    try {
      await loop.apply(step as Exclude<Step, EndStep>, view);
    } catch (error) {
      // Someone wrote between our read and our write: decide again on what they wrote.
      if (!isConflict(error)) throw error;
      taken.push("(conflict)");
    }
  }
  // Two parts undo each other's work, or a step does not do what it says: which one, only its name tells.
  const last = taken.slice(-8).join(", ");
  throw new EngineError("ABORTED", `no rest after ${mostSteps} steps; the last ones: ${last}`);
}

function nameOf(step: { do: string }): string {
  return "what" in step ? `${step.do} ${String(step.what)}` : step.do;
}

function isEnd(step: { do: string }): step is EndStep {
  return step.do === "rest" || step.do === "fail";
}

function ended(step: EndStep): ReconcileResult {
  if (step.do === "rest") return step.afterMs === undefined ? {} : { requeueAfterMs: step.afterMs };
  throw new EngineError(step.code, step.message, step.hint === undefined ? {} : { hint: step.hint });
}
