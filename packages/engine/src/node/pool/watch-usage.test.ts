import assert from "node:assert/strict";
import { test } from "node:test";
import { GIB, MIB } from "../../testing/scratch.ts";
import { isNotable } from "./watch-usage.ts";

test("what a pool has left is reported the more exactly, the less it is", () => {
  const TABLE: readonly [total: number, reported: number, free: number, notable: boolean][] = [
    [20 * GIB, 10 * GIB, 10 * GIB, false],
    [20 * GIB, 10 * GIB, 10 * GIB - 101 * MIB, false],
    [20 * GIB, 10 * GIB, 10 * GIB - 103 * MIB, true],
    // Within half a percent of the pool, and nearly all of what is left.
    [20 * GIB, 100 * MIB, 5 * MIB, true],
    [1024 * GIB, 5 * GIB, 6 * MIB, true],
    [1024 * GIB, 6 * MIB, 5 * GIB, true],
    [20 * GIB, 100 * MIB, 96 * MIB, false],
    [20 * GIB, 5 * MIB, 4.5 * MIB, false],
    [512 * MIB, 5 * MIB, 0, true],
  ];
  for (const [totalBytes, reported, freeBytes, notable] of TABLE)
    assert.equal(isNotable(reported, { totalBytes, freeBytes }), notable, `${reported} of ${freeBytes}`);
});
