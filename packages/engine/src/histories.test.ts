import assert from "node:assert/strict";
import { after, test } from "node:test";
import { atRest, lastingSleepers } from "@mooring/store";
import { cephOfFile, howMany, nothingSleeps, untilEachHasStepped, withCeph } from "@mooring/store/testing";
import fc from "fast-check";
import { Cluster } from "./testing/cluster.ts";
import { Faults } from "./testing/faults.ts";
import { cephPools, changeOf, forgive, History, POOLS } from "./testing/history.ts";
import type { Hooks } from "./testing/scratch.ts";

const withCluster = await withCeph();
const ceph = cephOfFile(after);

/** How long a history waits for everything to rest, in milliseconds. */
const SETTLING_MS = 30_000;

/** Controllers that the histories must have given something to do. */
const TAKE_PART = [
  ...["arbiter", "attach-for-snapshot", "clone", "expansion", "group-revert", "recurring-job", "remount"],
  ...["restore", "salvage", "cluster/group-snapshot", "cluster/share"],
  ...["pool", "volume", "node/group-snapshot", "node/share", "node/snapshot"],
];

/** Makes so many random histories in a cluster with these pools, when each of the controllers has made a step. */
async function histories(t: Hooks, pools: typeof POOLS, takePart: readonly string[], numRuns: number) {
  const faults = new Faults();
  const cluster = await Cluster.open(t, pools, faults);
  const store = cluster.storeOfParts;
  const history = new History(cluster, faults, pools);
  await history.first();
  await untilEachHasStepped(takePart);
  await fc.assert(
    fc.asyncProperty(
      fc.array(changeOf(pools.length), { minLength: 4, maxLength: 24 }),
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
    { numRuns, endOnFailure: true },
  );
  await history.recover();
  await nothingSleeps({ store });
}

test("histories of random changes and faults: no controller of the engine sleeps through what it has to do", (t) =>
  histories(t, POOLS, TAKE_PART, howMany({ everyday: 2, full: 60, deep: 1_000 })));

test(
  "the same where the nodes share a pool in a Ceph cluster, and a lost one is shut out",
  withCluster,
  async (t) => {
    const cluster = await ceph();
    const { conf, user, keyring, pool } = cluster;
    const namespace = await cluster.namespace();
    const pools = [...POOLS, ...cephPools({ conf, spec: { user, keyring, pool, namespace } })];
    await histories(t, pools, [...TAKE_PART, "shut-out"], howMany({ everyday: 0, full: 10, deep: 200 }));
  },
);
