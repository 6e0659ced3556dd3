import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { defined } from "../object/defined.ts";

/** A timer of Node.js that is to wait for longer than this, 24 days, comes at once: what others ask for is shortened to it. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** What a timer can wait for that is asked to wait for so long: at most 24 days. */
export function timerMs(milliseconds: number): number {
  return Math.min(milliseconds, LONGEST_TIMER_MS);
}

/**
 * A signal that stops a whole process part has as many listeners as there are waits under way; Node warns of a leak
 * from eleven on. (One derived signal per wait would be no better: in Node 20 `AbortSignal.any` keeps a trace of each.)
 */
export function allowManyListeners(signal: AbortSignal | undefined): void {
  if (signal !== undefined) setMaxListeners(0, signal);
}

/**
 * Runs `work` with a signal that aborts with the first of the given ones. `AbortSignal.any` makes such a signal for good: in Node.js
 * 20 it leaves 60 bytes in each, which those of a whole process would keep for every watch and every program of its months.
 */
export async function firstOf<T>(
  signals: readonly AbortSignal[],
  work: (first: AbortSignal) => Promise<T>,
): Promise<T> {
  const own = new AbortController();
  allowManyListeners(own.signal);
  const stop = () => own.abort(signals.find(({ aborted }) => aborted)?.reason);
  if (signals.some(({ aborted }) => aborted)) stop();
  for (const signal of signals) {
    allowManyListeners(signal);
    signal.addEventListener("abort", stop, { once: true });
  }
  try {
    return await work(own.signal);
  } finally {
    for (const signal of signals) signal.removeEventListener("abort", stop);
  }
}

/**
 * Runs `work` with a signal that aborts with the given one, or with a TimeoutError after the time. Rejects at once when the given one
 * has aborted.
 */
export async function within<T>(
  milliseconds: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const limit = new AbortController();
  allowManyListeners(limit.signal);
  const timer = setTimeout(() => limit.abort(late(milliseconds)), timerMs(milliseconds));
  try {
    return await (signal === undefined ? work(limit.signal) : firstOf([signal, limit.signal], work));
  } finally {
    clearTimeout(timer);
  }
}

const late = (milliseconds: number) => new DOMException(`not done within ${milliseconds} ms`, "TimeoutError");

/**
 * A signal that aborts with a TimeoutError after the time, and keeps no process alive. Not `AbortSignal.timeout`: when another signal is
 * made of one, nothing but its timer knows it, so Node.js 20 collects it as garbage, and the time never comes.
 */
export function withTimeLimit(milliseconds: number): AbortSignal {
  const limit = new AbortController();
  allowManyListeners(limit.signal);
  setTimeout(() => limit.abort(late(milliseconds)), timerMs(milliseconds)).unref();
  return limit.signal;
}

/** Resolves after the time, or 24 days; rejects with the signal's reason when that comes first. */
export async function delay(milliseconds: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  try {
    await sleep(timerMs(milliseconds), undefined, defined({ signal }));
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}

/** The promise's outcome, or the signal's reason when it aborts first. */
export async function orAborted<T>(promise: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (signal === undefined) return promise;
  signal.throwIfAborted();
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** Delays between attempts: doubled each time, with jitter, up to `maxMs`. */
export interface BackoffOptions {
  /** Delay after the first failure, in milliseconds. */
  baseMs: number;
  maxMs: number;
  /** A number in [0, 1); default `Math.random`. */
  random?: () => number;
}

/** Milliseconds to wait after the `failures`-th failure in a row: doubles up to the maximum, ±20 %. */
export function backoffMs(failures: number, { baseMs, maxMs, random = Math.random }: BackoffOptions): number {
  const delayMs = Math.min(maxMs, baseMs * 2 ** Math.min(30, Math.max(0, failures - 1)));
  return Math.min(maxMs, delayMs * (0.8 + 0.4 * random()));
}
