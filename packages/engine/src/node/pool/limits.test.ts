import assert from "node:assert/strict";
import { test } from "node:test";
import { mutate } from "@mooring/store";
import { Pools } from "../../api/pool.ts";
import { Volumes } from "../../api/volume.ts";
import { Bench, POOL, until } from "../../testing/agent.ts";
import { GIB } from "../../testing/scratch.ts";

test("an over-commit factor that somebody changes counts at once, in both directions", async (t) => {
  const bench = await Bench.open(t, "xfs", { poolSize: 2 * GIB });
  const limit = (overcommit: number) =>
    mutate(bench.store, Pools, { name: POOL }, (pool) => {
      pool.spec.overcommit = overcommit;
    });
  await bench.createVolume("v-p-1", { size: 100 * GIB, volumeMode: "Block" });
  const refused = await bench.volume("v-p-1", "creating", (v) => v.status?.error !== undefined);
  assert.match(refused.status?.error?.message ?? "", /over-commit 1\)/);
  await limit(100);
  await bench.volume("v-p-1", "detached");
  await limit(1);
  for (let n = 2; ; n++) {
    const name = `v-p-${n}`;
    await bench.createVolume(name, { size: 4096, volumeMode: "Block" });
    const settled = await until(
      bench.store,
      Volumes,
      name,
      (v) => v.status?.state === "detached" || v.status?.error !== undefined,
    );
    if (settled.status?.error === undefined) continue;
    assert.match(settled.status.error.message, /over-commit 1\)/);
    break;
  }
});
