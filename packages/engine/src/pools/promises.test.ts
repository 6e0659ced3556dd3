import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createHost } from "../host/create-host.ts";
import { GIB, MIB, scratch } from "../testing/scratch.ts";
import type { PoolBackend } from "./backend.ts";
import { createPool } from "./create-pool.ts";

const host = createHost();

async function opened(t: TestContext, dir: string): Promise<PoolBackend> {
  const pool = createPool("xfs", { host, path: join(dir, "pool"), size: 2 * GIB });
  t.after(() => pool.close().catch(() => {}));
  await pool.open();
  return pool;
}

test("a restore that is refused promises nothing more", async (t) => {
  const pool = await opened(t, await scratch(t, host));
  const image = await pool.create("v-p-1", 10 * MIB);
  await pool.create("v-p-2", 100 * MIB);
  const device = await pool.devices.attach(image);
  await assert.rejects(pool.replace("v-p-2", "v-p-1", 100 * MIB), { code: "FAILED_PRECONDITION" });
  assert.equal((await pool.usage()).promisedBytes, 110 * MIB);
  await pool.devices.detach(device);
  await pool.replace("v-p-2", "v-p-1", 100 * MIB);
  assert.equal((await pool.usage()).promisedBytes, 200 * MIB);
});

test("the volumes that are copied at once have to fit together, also into a pool of several nodes", async (t) => {
  const dir = await scratch(t, host);
  const below = await opened(t, dir);
  const source = join(dir, "pool", "mnt", "shared");
  await mkdir(source);
  const shared = { source, nodeID: "node-1" };
  const pool = createPool("xfs", { host, path: join(dir, "node-1"), shared, reserve: 0 });
  t.after(() => pool.close().catch(() => {}));
  await pool.open();
  const { totalBytes } = await pool.usage();
  const third = Math.floor(totalBytes / 3 / 4096) * 4096;
  await pool.create("v-p-1", third);
  const copies = ["v-p-2", "v-p-3", "v-p-4"].map((id) => ({ source: "v-p-1", id }));
  await assert.rejects(pool.beginCopy(copies), { code: "RESOURCE_EXHAUSTED" });
  assert.equal((await pool.usage()).promisedBytes, third, "nothing stays promised");
  const copy = await pool.beginCopy(copies.slice(0, 1));
  await assert.rejects(pool.create("v-p-5", 2 * third), { code: "RESOURCE_EXHAUSTED" });
  await copy.copy();
  await copy.finish();
  assert.equal((await pool.usage()).promisedBytes, 2 * third);
  await pool.close();
  await below.close();
});
