import assert from "node:assert/strict";
import { test } from "node:test";
import { defined } from "@mooring/store";
import fc from "fast-check";
import { ENGINE_FINALIZER, MOORING_API_VERSION } from "../../api/names.ts";
import type { Pool } from "../../api/pool.ts";
import { decide, limitsOf, type PoolStep, type PoolView, suspendsWriters } from "./decide.ts";

const NOW = new Date("2026-01-01T00:00:00Z");
const usage = { totalBytes: 100, freeBytes: 50, promisedBytes: 10, thickBytes: 0 };

const views: fc.Arbitrary<PoolView> = fc
  .record({
    finalizer: fc.boolean(),
    deleting: fc.boolean(),
    open: fc.boolean(),
    onDisk: fc.boolean(),
    images: fc.constantFrom<string[]>([], ["v-p-1"]),
    records: fc.nat(2),
    ready: fc.option(fc.boolean(), { nil: undefined }),
    overcommit: fc.option(fc.constantFrom(1, 2), { nil: undefined }),
    before: fc.constantFrom(undefined, {}, { overcommit: 1 }),
    holds: fc.boolean(),
    holdWriters: fc.option(fc.boolean(), { nil: undefined }),
  })
  .map(({ finalizer, deleting, open, onDisk, images, records, ready, overcommit, before, ...hold }) => {
    const pool: Pool = {
      apiVersion: MOORING_API_VERSION,
      kind: "Pool",
      metadata: { name: "p", ...(finalizer ? { finalizers: [ENGINE_FINALIZER] } : {}) },
      spec: {
        type: "xfs",
        nodeID: "n",
        path: "/p",
        ...defined({ overcommit, holdWriters: hold.holdWriters }),
      },
      ...(ready === undefined ? {} : { status: { ready } }),
    };
    if (deleting) pool.metadata.deletionTimestamp = NOW.toISOString();
    return {
      pool,
      nodeID: "n",
      usage: open ? usage : undefined,
      limits: open ? before : undefined,
      holds: open ? hold.holds : undefined,
      onDisk: open || onDisk,
      images: open ? images : [],
      records,
      now: NOW,
    };
  });

function perform(view: PoolView, step: PoolStep): PoolView | undefined {
  const { pool } = view;
  switch (step.do) {
    case "add-finalizer":
      return { ...view, pool: { ...pool, metadata: { ...pool.metadata, finalizers: [ENGINE_FINALIZER] } } };
    case "open":
      return { ...view, usage, limits: limitsOf(pool), holds: suspendsWriters(pool), onDisk: true };
    case "hold-writers":
      return { ...view, holds: step.wanted };
    case "limit":
      return { ...view, limits: step.limits };
    case "record-usage":
      return { ...view, pool: { ...pool, status: step.status } };
    case "remove":
      return { ...view, usage: undefined, onDisk: false };
    default:
      return undefined;
  }
}

test("a pool comes to ready, or goes when nothing is in it, and never with something in it", () => {
  fc.assert(
    fc.property(views, (start) => {
      let view = start;
      for (let steps = 0; ; steps++) {
        assert.ok(steps < 8, "no rest");
        const step = decide(view);
        if (step.do === "remove") assert.deepEqual([view.images, view.records], [[], 0]);
        const next = perform(view, step);
        if (next !== undefined) {
          view = next;
          continue;
        }
        if (step.do === "done" && view.pool.metadata.deletionTimestamp === undefined) {
          assert.equal(view.pool.status?.ready, true);
          assert.equal(view.holds, view.pool.spec.holdWriters === true);
        }
        if (step.do === "fail") assert.ok(view.records > 0 || view.images.length > 0);
        return;
      }
    }),
  );
});
