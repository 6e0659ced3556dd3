import { defined, type Outcome } from "@mooring/store";
import { EngineError, type EngineErrorCode } from "./errors.ts";

type Failure = Extract<Outcome, { do: "fail" }>;

/** Ends the work on a key with a coded error, which is written to its object. */
export function fail(code: EngineErrorCode, message: string, hint?: string): Failure {
  return { do: "fail", code, message, ...defined({ hint }) };
}

/** What a decision has refused: nothing was attempted. */
export class Refused extends EngineError {}

/** The error of a `fail`, thrown. */
export function failure({ code, message, hint }: Failure): Refused {
  // Sound: only decisions of ours come here.
  return new Refused(code as EngineErrorCode, message, defined({ hint }));
}
