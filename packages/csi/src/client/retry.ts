import { setTimeout as sleep } from "node:timers/promises";
import { Code } from "../errors/codes.ts";
import { CsiError } from "../errors/csi-error.ts";
import { toCsiError } from "../errors/status.ts";
import type { CallOptions } from "../wire/method-types.ts";

/** Which failed calls to make again. Every CSI call is idempotent, so that making it again is safe. */
export interface RetryPolicy {
  /** Default: UNAVAILABLE and ABORTED. */
  codes?: readonly Code[];
  /**
   * Calls in all, the first one included. Default: as many as fit into the call's time; 10 where it has neither a time limit nor a
   * signal.
   */
  attempts?: number;
  /** Delay before the second call, in milliseconds; it doubles from then on. Default 100. */
  initialMs?: number;
  /** Longest delay, in milliseconds. Default 5,000. */
  maxMs?: number;
}

/** The part of a delay that is left to chance, so that many callers do not come back at once. */
const SPREAD = 0.25;

/** Makes a call until it works, fails for good, or its time is over. Throws the last failure. */
export async function withRetry<T>(
  policy: RetryPolicy | undefined,
  options: CallOptions,
  attempt: (options: CallOptions) => Promise<T>,
): Promise<T> {
  if (policy === undefined) return attempt(options);
  const { codes = [Code.UNAVAILABLE, Code.ABORTED], attempts, initialMs = 100, maxMs = 5000 } = policy;
  const limit = attempts ?? (options.timeoutMs === undefined && options.signal === undefined ? 10 : Infinity);
  const end = options.timeoutMs === undefined ? Infinity : Date.now() + options.timeoutMs;
  for (let count = 1; ; count += 1) {
    const left = end - Date.now();
    try {
      return await attempt(end === Infinity ? options : { ...options, timeoutMs: Math.max(1, left) });
    } catch (thrown) {
      const error = toCsiError(thrown);
      const backoff = Math.min(maxMs, initialMs * 2 ** (count - 1)) * (1 - SPREAD * Math.random());
      if (count >= limit || !codes.includes(error.code) || Date.now() + backoff >= end) throw error;
      await wait(backoff, options.signal);
    }
  }
}

/**
 * Opens a stream, again after a failure as {@link withRetry} does, until its first message has come. A later failure is thrown to the
 * caller, who knows what has arrived and where to go on.
 */
export async function* streamWithRetry<T>(
  policy: RetryPolicy | undefined,
  options: CallOptions,
  open: (options: CallOptions) => AsyncGenerator<T, void>,
): AsyncGenerator<T, void> {
  const { first, messages } = await withRetry(policy, options, async (each) => {
    const messages = open(each);
    return { first: await messages.next(), messages };
  });
  try {
    for (let next = first; next.done !== true; next = await messages.next()) yield next.value;
  } finally {
    await messages.return();
  }
}

/** Waits, or throws CANCELLED when the signal aborts. */
export async function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await sleep(ms, undefined, signal === undefined ? {} : { signal });
  } catch (cause) {
    throw signal?.reason instanceof CsiError
      ? signal.reason
      : CsiError.cancelled("the call was cancelled while it waited to be made again", { cause });
  }
}
