import assert from "node:assert/strict";
import { test } from "node:test";
import { delay, firstOf, within, withTimeLimit } from "./wait.ts";

/** Far more than the ten listeners from which on Node.js warns of a leak. */
const MANY = 40;
const LONG_MS = 60_000;

/** So many waits at a time, and what Node.js warns of meanwhile. */
async function warningsOf(wait: (stop: AbortSignal) => Promise<unknown>): Promise<string[]> {
  const seen: string[] = [];
  const note = (warning: Error) => void seen.push(warning.message);
  const stop = new AbortController();
  process.on("warning", note);
  try {
    const waiting = wait(stop.signal);
    stop.abort();
    await waiting.catch(() => {});
    // Warnings come with the next turn.
    await new Promise(setImmediate);
    return seen;
  } finally {
    process.off("warning", note);
  }
}

const all = (signal: AbortSignal) => Promise.all(Array.from({ length: MANY }, () => delay(LONG_MS, signal)));

test("many waits with the signal of one limit are no leak that is warned of", async () => {
  assert.deepEqual(await warningsOf((stop) => within(LONG_MS, stop, all)), []);
  assert.deepEqual(await warningsOf((stop) => firstOf([stop], all)), []);
  const limit = withTimeLimit(LONG_MS);
  assert.deepEqual(await warningsOf((stop) => Promise.race([all(limit), delay(LONG_MS, stop)])), []);
});
