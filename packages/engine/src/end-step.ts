import { DONE, defined, type Outcome, wait } from "@mooring/store";
import { EngineError, type EngineErrorCode } from "./errors.ts";

/** Nothing is left to do, or nothing can be done until something changes. */
export type EndStep =
  | { do: "rest"; afterMs?: number }
  | { do: "fail"; code: EngineErrorCode; message: string; hint?: string };

/** Nothing is left to do until something changes that was read. */
export const REST: EndStep = { do: "rest" };

/** Ends the work on a key with a coded error, which is written to its object. */
export function fail(code: EngineErrorCode, message: string, hint?: string): EndStep {
  return { do: "fail", code, message, ...defined({ hint }) };
}

/** A decision as the loop of the store takes it. */
export function asOutcome<Step extends { do: string }>(step: Step): Exclude<Step, EndStep> | Outcome {
  if (!isEnd(step)) return step as Exclude<Step, EndStep>;
  if (step.do === "fail") return step;
  return step.afterMs === undefined ? DONE : wait(step.afterMs);
}

/** What a decision has refused: nothing was attempted. */
export class Refused extends EngineError {}

/** The error of a `fail`, thrown. */
export function failure(step: Extract<Outcome, { do: "fail" }>): Refused {
  const { code, message, hint } = step;
  // Sound: only decisions of ours come here.
  return new Refused(code as EngineErrorCode, message, defined({ hint }));
}

function isEnd(step: { do: string }): step is EndStep {
  return step.do === "rest" || step.do === "fail";
}
