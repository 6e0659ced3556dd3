import assert from "node:assert/strict";
import { test } from "node:test";
import { atRest, lastingSleepers } from "@mooring/store";
import { howMany, nothingSleeps, untilEachHasStepped } from "@mooring/store/testing";
import fc from "fast-check";
import { Cluster } from "./testing/cluster.ts";
import { Faults } from "./testing/faults.ts";
import { change, forgive, History, POOLS } from "./testing/history.ts";

/** How long a history waits for everything to rest, in milliseconds. */
const SETTLING_MS = 30_000;

/** Controllers that the histories must have given something to do. */
const TAKE_PART = [
  ...["arbiter", "clone", "expansion", "group-revert", "group-snapshot", "pool", "recurring-job", "remount"],
  ...["restore", "salvage", "share", "snapshot", "snapshot-tickets", "volume"],
];

test("histories of random changes and faults: no controller of the engine sleeps through what it has to do", async (t) => {
  const faults = new Faults();
  const cluster = await Cluster.open(t, POOLS, faults);
  const store = cluster.storeOfParts;
  const history = new History(cluster, faults);
  await history.first();
  await untilEachHasStepped(TAKE_PART);
  await fc.assert(
    fc.asyncProperty(
      fc.array(change, { minLength: 4, maxLength: 24 }),
      fc.boolean(),
      fc.boolean(),
      async (changes, atOnce, settles) => {
        if (atOnce) await Promise.all(changes.map((each) => history.make(each).catch(forgive)));
        else for (const each of changes) await history.make(each).catch(forgive);
        if (!settles) return assert.deepEqual(await lastingSleepers({ store }), []);
        await history.recover();
        // Who is busy for longer does not sleep, and how long that takes decides nothing.
        await atRest({ store, withinMs: SETTLING_MS }).catch(() => {});
        assert.deepEqual(await lastingSleepers({ store }), []);
      },
    ),
    { numRuns: howMany({ everyday: 2, full: 60, deep: 1_000 }), endOnFailure: true },
  );
  await history.recover();
  await nothingSleeps({ store });
});
