import assert from "node:assert/strict";
import { getEventListeners, once } from "node:events";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { delay, firstOf, within, withTimeLimit } from "./wait.ts";

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

test("a time limit comes, also when garbage is collected before", async (t) => {
  const limit = withTimeLimit(200);
  // A signal's timer keeps no process alive.
  const collecting = setInterval(collect, 20);
  t.after(() => clearInterval(collecting));
  await once(limit, "abort", { signal: AbortSignal.timeout(30_000) });
  assert.equal(limit.reason.name, "TimeoutError");
});

test("limited work ends with the signal that was given, or when its time is over", async () => {
  const stop = new AbortController();
  const until = (signal: AbortSignal) => once(signal, "abort").then(() => signal.reason.message);
  const limited = within(60_000, stop.signal, until);
  stop.abort(new Error("enough"));
  assert.equal(await limited, "enough");
  await assert.rejects(within(1, stop.signal, until), /enough/);
  assert.equal(await within(1, new AbortController().signal, until), "not done within 1 ms");
});

test("the first of several signals ends the work, also one that has aborted before; the others forget it", async () => {
  const [a, b] = [new AbortController(), new AbortController()];
  const waiting = firstOf([a.signal, b.signal], async (first) => {
    if (!first.aborted) await once(first, "abort");
    return first.reason.message;
  });
  b.abort(new Error("b"));
  assert.equal(await waiting, "b");
  assert.equal(await firstOf([a.signal, b.signal], async ({ reason }) => reason.message), "b");
  assert.deepEqual(getEventListeners(a.signal, "abort"), []);
});

test("a wait that is longer than a timer of Node.js can be does not end at once", async () => {
  const stop = new AbortController();
  const forLong = 2 ** 31 * 1000;
  const limit = withTimeLimit(forLong);
  const ends = delay(forLong, stop.signal).then(() => "ended");
  const work = within(forLong, stop.signal, (signal) => once(signal, "abort")).then(() => "ended");
  // Those timers would have come before this one, which was made after them and is longer.
  const still = delay(20).then(() => "waits");
  assert.equal(await Promise.race([ends, work, still]), "waits");
  assert.equal(limit.aborted, false);
  const stopped = Promise.allSettled([ends, work]);
  stop.abort();
  await stopped;
});
