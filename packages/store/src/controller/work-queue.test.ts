import assert from "node:assert/strict";
import { test } from "node:test";
import { WorkQueue } from "./work-queue.ts";

const exact = { random: () => 0.5 };

async function takeWithin(queue: WorkQueue, milliseconds: number): Promise<string | undefined> {
  const late = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), milliseconds));
  return Promise.race([queue.take(), late]);
}

test("a key is in the queue once, and with one worker at a time", async (t) => {
  const queue = new WorkQueue();
  t.after(() => queue.close());
  queue.add("a");
  queue.add("a");
  assert.equal(queue.length, 1);
  assert.equal(await queue.take(), "a");
  queue.add("a");
  assert.equal(queue.length, 0, "somebody works on it");
  queue.done("a");
  assert.equal(await queue.take(), "a");
  queue.done("a");
  assert.equal(queue.length, 0);
});

test("keys come in the order in which they were added", async (t) => {
  const queue = new WorkQueue();
  t.after(() => queue.close());
  for (const key of ["b", "a", "c", "a"]) queue.add(key);
  assert.deepEqual([await queue.take(), await queue.take(), await queue.take()], ["b", "a", "c"]);
});

test("a failing key waits longer each time, and starts anew after a success", (t) => {
  const queue = new WorkQueue({ baseMs: 100, maxMs: 500, ...exact });
  t.after(() => queue.close());
  assert.deepEqual(
    [1, 2, 3, 4, 5].map(() => queue.retry("a")),
    [100, 200, 400, 500, 500],
  );
  assert.equal(queue.failures("a"), 5);
  queue.forget("a");
  assert.equal(queue.retry("a"), 100);
});

test("events do not make a failing key spin, but do not wait for its whole back-off either", async (t) => {
  const queue = new WorkQueue({ baseMs: 60_000, failureIntervalMs: 80, ...exact });
  t.after(() => queue.close());
  queue.add("a");
  await queue.take();
  queue.retry("a");
  queue.done("a");
  const failedAt = performance.now();
  queue.add("a");
  assert.equal(queue.length, 0);
  assert.equal(await takeWithin(queue, 5_000), "a");
  assert.ok(performance.now() - failedAt >= 75);
});

test("of two times the earlier counts", async (t) => {
  const queue = new WorkQueue();
  t.after(() => queue.close());
  queue.addAfter("a", 60_000);
  queue.addAfter("a", 10);
  queue.addAfter("a", 60_000);
  assert.equal(await takeWithin(queue, 5_000), "a");
  queue.done("a");
  queue.addAfter("b", 60_000);
  queue.add("b");
  assert.equal(await queue.take(), "b");
});

test("closing releases everybody who waits", async () => {
  const queue = new WorkQueue();
  const waiting = [queue.take(), queue.take()];
  queue.addAfter("a", 1);
  queue.close();
  assert.deepEqual(await Promise.all(waiting), [undefined, undefined]);
  assert.equal(await queue.take(), undefined);
});
