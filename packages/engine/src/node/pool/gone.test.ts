import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { sample } from "@mooring/store/testing";
import { Pools, type PoolType } from "../../api/pool.ts";
import { Volumes } from "../../api/volume.ts";
import { Bench, POOL, until } from "../../testing/agent.ts";

/** A node with a volume, stopped; its pools are taken elsewhere, and it starts again. */
async function withoutPools(t: TestContext, type: PoolType): Promise<{ bench: Bench; elsewhere: string }> {
  const bench = await Bench.open(t, type, { behindItsBack: true });
  await bench.createVolume("v-p-1");
  await bench.volume("v-p-1", "detached");
  await bench.stop();
  const elsewhere = join(bench.dir, "elsewhere");
  await rename(join(bench.stateDir, "pools"), elsewhere);
  await bench.start();
  return { bench, elsewhere };
}

const ready = (bench: Bench) => until(bench.store, Pools, POOL, ({ status }) => status?.ready === true);

for (const type of sample(["xfs", "btrfs", "directory"] as const, { everyday: 1 }))
  test(`${type}: a pool that has gone with its volumes is not made anew, and opens once it is back`, async (t) => {
    const { bench, elsewhere } = await withoutPools(t, type);
    const pools = join(bench.stateDir, "pools");
    const { status } = await until(bench.store, Pools, POOL, ({ status: s }) => s?.ready === false);
    const { reason, message = "" } = status?.conditions?.find(({ type: kind }) => kind === "Ready") ?? {};
    assert.equal(reason, "PoolMissing");
    assert.match(message, new RegExp(`pool p has 1 volume and 0 snapshots, .* no pool in ${pools}/p: `));
    assert.match(message, /mount its disk, .*kubectl delete .*volumes\.storage\.mooring\.dev\/v-p-1\b/);
    assert.equal(existsSync(pools), false, "nothing is made where it was");
    await rename(elsewhere, pools);
    await ready(bench);
    await bench.attached("v-p-1");
    await bench.detached("v-p-1");
  });

test("a pool that has gone is made anew once all that was in it is given up", async (t) => {
  const { bench, elsewhere } = await withoutPools(t, "xfs");
  await rm(elsewhere, { recursive: true });
  await until(bench.store, Pools, POOL, ({ status }) => status?.ready === false);
  await bench.deleted(Volumes, "v-p-1");
  await ready(bench);
});
