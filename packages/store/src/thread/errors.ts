import { isStatus, StatusError } from "../object/status-error.ts";
import type { Outcome, SentError } from "./protocol.ts";

/** What a function returns or throws, as it can be sent. */
export async function outcomeOf(work: () => unknown): Promise<Outcome> {
  try {
    return { value: await work() };
  } catch (error) {
    return { error: sentError(error) };
  }
}

/** The same for one that is synchronous. */
export function outcomeAtOnce(work: () => unknown): Outcome {
  try {
    return { value: work() };
  } catch (error) {
    return { error: sentError(error) };
  }
}

function sentError(error: unknown): SentError {
  if (!isStatus(error)) return { message: error instanceof Error ? error.message : String(error) };
  const { message, reason, details, code } = error;
  return { message, status: { reason, details, code } };
}

/** The value, or the error thrown. */
export function opened(outcome: Outcome): unknown {
  if (!("error" in outcome)) return outcome.value;
  const { message, status } = outcome.error;
  throw status === undefined
    ? new Error(message)
    : new StatusError(status.reason, message, status.details, status.code);
}
