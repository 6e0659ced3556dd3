import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { nextSlice, sliceLasts } from "./slices.ts";

/** Keeps the thread busy. */
function work(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

test("slices of several do not add up, and each has its own in the end", async () => {
  let turn = 0;
  const turns: number[] = [];
  let left = 5;
  const one = async () => {
    for (let times = 0; times < 3; times += 1) {
      while (!sliceLasts()) await nextSlice();
      turns.push(turn);
      work(10);
    }
    left -= 1;
  };
  const all = Array.from({ length: left }, one);
  while (left > 0) {
    await nextTurn();
    turn += 1;
  }
  await Promise.all(all);
  assert.equal(turns.length, 15);
  // One begins in the first turn, beside one that waits.
  assert.ok(new Set(turns).size >= 14, `a turn has one slice: ${turns.join()}`);
});

test("those that need little have it in one turn", async () => {
  let [turn, done] = [0, 0];
  for (let at = 0; at < 100; at += 1) void nextSlice().then(() => (done += 1));
  while (done < 100) {
    await nextTurn();
    turn += 1;
  }
  assert.ok(turn < 50, `${turn} turns`);
});
