import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readdir, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Pools } from "../../api/pool.ts";
import { Bench, POOL } from "../../testing/agent.ts";

test("a removal that was interrupted half-way is ended, and leaves no folder", async (t) => {
  const bench = await Bench.open(t, "directory");
  const folder = join(bench.stateDir, "pools", POOL);
  await bench.stop();
  await bench.store.delete(Pools, { name: POOL });
  await rmdir(join(folder, "images"));
  await bench.start();
  await bench.gone(Pools, POOL);
  assert.equal(existsSync(folder), false);
});

test("what an operator has put into a pool's folder stays", async (t) => {
  const bench = await Bench.open(t, "directory");
  const folder = join(bench.stateDir, "pools", POOL);
  await mkdir(join(folder, "mine"));
  await writeFile(join(folder, "mine", "f"), "kept");
  await bench.deleted(Pools, POOL);
  assert.ok(existsSync(join(folder, "mine", "f")));
});

test("a pool whose folder is a mount point is deleted, and the mount stays", async (t) => {
  let folder = "";
  const prepare = async ({ host, stateDir }: Bench): Promise<void> => {
    folder = join(stateDir, "pools", POOL);
    await mkdir(folder, { recursive: true });
    await host.mounts.mount({ source: "tmpfs", target: folder, fsType: "tmpfs" });
  };
  const bench = await Bench.open(t, "directory", { prepare });
  assert.ok(existsSync(join(folder, "images")));
  await bench.deleted(Pools, POOL);
  assert.deepEqual(await readdir(folder), []);
  assert.equal((await bench.host.mounts.at(folder)).length, 1);
});
