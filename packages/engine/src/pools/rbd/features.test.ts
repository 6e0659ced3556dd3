import assert from "node:assert/strict";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { cephOfFile, withCeph } from "@mooring/store/testing";
import type { ImageFeature } from "../../api/image-features.ts";
import { EngineError } from "../../errors.ts";
import { createHost } from "../../host/create-host.ts";
import { contents } from "../../testing/image-contents.ts";
import { MIB, scratch } from "../../testing/scratch.ts";
import { createPool } from "../create-pool.ts";

const host = createHost({ server: true });
const withCluster = await withCeph();
const cluster = cephOfFile(after);
const { write, read } = contents(true);
const LEAST: ImageFeature[] = ["layering", "exclusive-lock"];
const ALL: ImageFeature[] = [...LEAST, "object-map", "fast-diff", "deep-flatten"];

async function opened(t: TestContext) {
  const dir = await scratch(t, host);
  const ceph = await cluster();
  const { conf, user, keyring, pool: name } = ceph;
  const namespace = await ceph.namespace();
  const place = { conf, user, keyring, pool: name, namespace };
  const pool = createPool("rbd", { host, path: join(dir, "p"), rbd: { nodeID: "node-1", place } });
  t.after(() => pool.close().catch(() => {}));
  await pool.open();
  const featuresOf = async (id: string): Promise<string[]> => {
    const image = `${name}/${namespace}/mooring.${id}`;
    const { features } = JSON.parse(await ceph.admin("rbd", "info", "--format", "json", image));
    // Ceph's own mark of an image that has been cloned.
    return features.filter((feature: string) => feature !== "operations");
  };
  return { pool, featuresOf };
}

test(
  "rbd: an image has the features that are asked for, or all; a copy those of its source, or others",
  withCluster,
  async (t) => {
    const { pool, featuresOf } = await opened(t);
    const least = await pool.create("v-p-1", 10 * MIB, { imageFeatures: LEAST });
    await pool.create("v-p-2", 10 * MIB);
    assert.deepEqual(await featuresOf("v-p-1"), LEAST);
    assert.deepEqual(await featuresOf("v-p-2"), ALL);
    await write(pool, least, "first.");
    await pool.clone("v-p-1", "s-p-1", 10 * MIB);
    assert.deepEqual(await featuresOf("s-p-1"), LEAST);
    const richer = await pool.clone("s-p-1", "v-p-3", 12 * MIB, { imageFeatures: ALL });
    await pool.clone("v-p-2", "v-p-4", 10 * MIB, { imageFeatures: [...LEAST, "deep-flatten"] });
    assert.deepEqual(await featuresOf("v-p-3"), ALL);
    assert.deepEqual(await featuresOf("v-p-4"), [...LEAST, "deep-flatten"]);
    assert.equal(await read(pool, richer, 6), "first.");
    await write(pool, richer, "second");
    assert.equal(await read(pool, richer, 6), "second");
    const reverted = await pool.replace("s-p-1", "v-p-3", 12 * MIB);
    assert.deepEqual(await featuresOf("v-p-3"), ALL, "a volume keeps its own in place");
    assert.equal(await read(pool, reverted, 6), "first.");
  },
);

test("rbd: copies of a group have the features that each is to have", withCluster, async (t) => {
  const { pool, featuresOf } = await opened(t);
  await pool.create("v-p-1", 10 * MIB, { imageFeatures: LEAST });
  await pool.create("v-p-2", 10 * MIB);
  const copy = await pool.beginCopy([
    { source: "v-p-1", id: "s-p-1" },
    { source: "v-p-2", id: "v-p-3", imageFeatures: LEAST },
  ]);
  await copy.copy();
  await copy.finish();
  assert.deepEqual(await featuresOf("s-p-1"), LEAST);
  assert.deepEqual(await featuresOf("v-p-3"), LEAST);
});

test("an image of a pool that is in no Ceph cluster has no features", async (t) => {
  const dir = await scratch(t, host);
  const pool = createPool("directory", { host, path: join(dir, "p") });
  t.after(() => pool.close().catch(() => {}));
  await pool.open();
  await assert.rejects(pool.create("v-p-1", MIB, { imageFeatures: LEAST }), (error: unknown) => {
    assert.ok(error instanceof EngineError && error.code === "INVALID_ARGUMENT", String(error));
    assert.match(error.message, /have no features/);
    return true;
  });
  assert.deepEqual(await pool.list(), []);
});
