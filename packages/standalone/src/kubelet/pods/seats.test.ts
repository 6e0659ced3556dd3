import assert from "node:assert/strict";
import { test } from "node:test";
import { Seats } from "./seats.ts";

test("no more have a seat than there are, those who wait get one in their order, also after a failure", async () => {
  const seats = new Seats(2);
  const order: number[] = [];
  const ends: (() => void)[] = [];
  let [busy, most] = [0, 0];
  const all = Array.from({ length: 5 }, (_, at) =>
    seats.run(async () => {
      order.push(at);
      busy += 1;
      most = Math.max(most, busy);
      await new Promise<void>((resolve) => ends.push(resolve));
      busy -= 1;
      if (at === 0) throw new Error("failed");
    }),
  );
  const settled = Promise.allSettled(all);
  while (order.length < 5 || busy > 0) {
    ends.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const outcomes = (await settled).map(({ status }) => status);
  assert.deepEqual(outcomes, ["rejected", ...Array.from({ length: 4 }, () => "fulfilled")]);
  assert.deepEqual([order, most], [[0, 1, 2, 3, 4], 2]);
});
