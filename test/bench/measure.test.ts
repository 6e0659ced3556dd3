import assert from "node:assert/strict";
import { test } from "node:test";
import { compared, load, type Measurement, percentile, requireFigures } from "./measure.ts";

test("percentiles are values that were measured; of none there is none", () => {
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
  assert.equal(percentile(hundred, 0.5), 50);
  assert.equal(percentile(hundred, 0.99), 99);
  assert.equal(percentile([3, 1, 2], 0.99), 3);
  assert.ok(Number.isNaN(percentile([], 0.5)));
});

test("a load is done exactly as often as asked, as many at once as asked, and failure is not hidden", async () => {
  const seen: number[] = [];
  let [running, most] = [0, 0];
  const measured = await load(25, 4, async (index) => {
    seen.push(index);
    most = Math.max(most, ++running);
    await new Promise(setImmediate);
    running -= 1;
  });
  assert.deepEqual(
    seen,
    Array.from({ length: 25 }, (_, index) => index),
  );
  assert.equal(most, 4);
  assert.ok(measured.p50 <= measured.p99 && measured.perSecond > 0);
  await assert.rejects(
    load(3, 1, async () => Promise.reject(new Error("no"))),
    /no/,
  );
});

test("each figure stands beside that of each baseline", () => {
  const ours = { p50: 2, p99: 4, perSecond: 500 };
  const entries = compared("work", ours, {
    raw: { p50: 1, p99: 2, perSecond: 1000 },
    echo: { p50: 0.5, p99: 1, perSecond: 2000 },
  });
  assert.deepEqual(
    entries.map(({ name, baselineName, value, baseline = Number.NaN }) => [
      `${name} / ${baselineName}`,
      value / baseline,
    ]),
    [
      ["work: p50 / raw", 2],
      ["work: p99 / raw", 2],
      ["work: throughput / raw", 0.5],
      ["work: p50 / echo", 4],
      ["work: p99 / echo", 4],
      ["work: throughput / echo", 0.25],
    ],
  );
});

test("what is no figure fails the run", () => {
  const entry: Measurement = { name: "x", unit: "ms", value: 1 };
  requireFigures("subject", [entry, { ...entry, baseline: 2 }]);
  assert.throws(() => requireFigures("subject", []), /subject: nothing/);
  assert.throws(() => requireFigures("subject", [{ ...entry, value: Number.NaN }]), /"x" is NaN/);
  assert.throws(() => requireFigures("subject", [{ ...entry, baseline: 1 / 0 }]), /its baseline Infinity/);
});
