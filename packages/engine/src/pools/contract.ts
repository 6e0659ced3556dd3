import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { describeBytes, eventually } from "@mooring/store";
import type { PoolType } from "../api/pool.ts";
import { EngineError } from "../errors.ts";
import type { Host } from "../host/host.ts";
import { contents } from "../testing/image-contents.ts";
import { GIB, MIB, scratch } from "../testing/scratch.ts";
import type { PoolBackend } from "./backend.ts";
import { createPool, type PoolOptions } from "./create-pool.ts";
import { poolLayout, rbdLayout } from "./layout.ts";

const codeOf = (error: unknown): unknown => (error instanceof EngineError ? error.code : error);
const failure = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "success",
    (error: unknown) => codeOf(error),
  );

/** Pools of one kind. */
export interface PoolsUnderTest {
  type: PoolType;
  host: Host;
  /** What the pool of a test needs besides its folder; asked for once in each test. */
  options?: (t: TestContext) => Promise<Partial<PoolOptions>>;
  /** Of every test. */
  test?: { skip: string | false };
}

/** What every kind of pool has to do, on real devices and file systems. */
export function poolContract(pools: PoolsUnderTest): void {
  const { type, host, options = async () => ({}), test: how = { skip: false } } = pools;
  const blocks = type !== "directory";
  const layout = (folder: string) => (type === "rbd" ? rbdLayout(folder) : poolLayout(type, folder));
  let own: Partial<PoolOptions> = {};
  const contract = (title: string, body: (t: TestContext, folder: string) => Promise<void>): void => {
    test(`${type}: ${title}`, how, async (t) => {
      const dir = await scratch(t, host);
      own = await options(t);
      await body(t, join(dir, "pool"));
    });
  };
  const created = (path: string, more: Partial<PoolOptions> = {}): PoolBackend =>
    createPool(type, { host, path, size: 2 * GIB, ...own, ...more });
  const opened = async (
    t: TestContext,
    path: string,
    more: Partial<PoolOptions> = {},
  ): Promise<PoolBackend> => {
    const pool = created(path, more);
    t.after(() => pool.close().catch(() => {}));
    await pool.open();
    return pool;
  };
  const { write, read, sizeOf } = contents(blocks);

  contract("makes itself, closes without a trace, opens again with its images", async (t, folder) => {
    const pool = await opened(t, folder);
    await pool.open();
    const image = await pool.create("v-p-1", 10 * MIB);
    await write(pool, image, "kept");
    await pool.close();
    assert.deepEqual(
      (await host.loops.list()).filter((l) => l.backingFile.startsWith(folder)),
      [],
    );
    assert.deepEqual(
      (await host.mounts.list()).filter((m) => m.target.startsWith(folder)),
      [],
    );
    const again = await opened(t, folder);
    const found = await again.find("v-p-1");
    assert.deepEqual(found, image);
    assert.equal(await read(again, image, 4), "kept");
  });

  contract("an image is made once, however often it is asked for", async (t, folder) => {
    const pool = await opened(t, folder);
    const images = await Promise.all([1, 2, 3].map(() => pool.create("v-p-1", 10 * MIB)));
    assert.deepEqual(images[1], images[0]);
    assert.deepEqual(await pool.list(), [images[0]]);
    assert.equal(await failure(pool.create("v-p-1", 20 * MIB)), "ALREADY_EXISTS");
    assert.equal((await pool.usage()).promisedBytes, 10 * MIB);
  });

  contract("an image takes no space before it is written", async (t, folder) => {
    const pool = await opened(t, folder);
    const before = await pool.usage();
    await pool.create("v-p-1", GIB);
    const after = await pool.usage();
    // The room of a directory is that of the machine's disk, and others write there.
    if (blocks) assert.ok(before.freeBytes - after.freeBytes < 64 * MIB);
  });

  contract("a clone is its source at one point in time, and may be larger", async (t, folder) => {
    const pool = await opened(t, folder);
    const source = await pool.create("v-p-1", 10 * MIB);
    await write(pool, source, "before");
    const snapshot = await pool.clone("v-p-1", "s-p-1", 10 * MIB);
    const larger = await pool.clone("s-p-1", "v-p-2", 30 * MIB);
    await write(pool, source, "after!");
    assert.equal(await read(pool, snapshot, 6), "before");
    assert.equal(await read(pool, larger, 6), "before");
    assert.equal(larger.size, 30 * MIB);
    if (blocks) assert.equal(await sizeOf(pool, larger), 30 * MIB);
    await pool.remove("v-p-1");
    assert.equal(await read(pool, snapshot, 6), "before");
    assert.deepEqual(await pool.clone("s-p-1", "v-p-2", 30 * MIB), larger);
  });

  contract("a clone of nothing, and one smaller than its source, are refused", async (t, folder) => {
    const pool = await opened(t, folder);
    await pool.create("v-p-1", 10 * MIB);
    assert.equal(await failure(pool.clone("v-p-9", "v-p-2", MIB)), "NOT_FOUND");
    assert.equal(await failure(pool.clone("v-p-1", "v-p-2", MIB)), "OUT_OF_RANGE");
    assert.equal(await pool.find("v-p-2"), undefined);
    assert.equal((await pool.usage()).promisedBytes, 10 * MIB);
  });

  contract("which request has put an image in another's place is kept with it", async (t, folder) => {
    const pool = await opened(t, folder);
    const volume = await pool.create("v-p-1", 10 * MIB);
    await write(pool, volume, "before");
    await pool.clone("v-p-1", "s-p-1", 10 * MIB);
    await write(pool, volume, "after!");
    assert.equal(await pool.requestOf("v-p-1"), undefined);
    const reverted = await pool.replace("s-p-1", "v-p-1", 10 * MIB, {
      request: "uid-1 2026-01-01T00:00:00Z",
    });
    assert.equal(await read(pool, reverted, 6), "before");
    await pool.close();
    const again = await opened(t, folder);
    assert.equal(await again.requestOf("v-p-1"), "uid-1 2026-01-01T00:00:00Z");
    await again.replace("s-p-1", "v-p-1", 10 * MIB, { request: "uid-1 2026-01-02T00:00:00Z" });
    assert.equal(await again.requestOf("v-p-1"), "uid-1 2026-01-02T00:00:00Z");
    assert.equal(await again.requestOf("s-p-1"), undefined);
    assert.equal(await again.requestOf("v-p-2"), undefined);
  });

  contract("an image grows, never shrinks, and keeps its bytes", async (t, folder) => {
    const pool = await opened(t, folder);
    await write(pool, await pool.create("v-p-1", 10 * MIB), "kept");
    const grown = await pool.grow("v-p-1", 20 * MIB);
    assert.equal(grown.size, 20 * MIB);
    assert.deepEqual(await pool.grow("v-p-1", 5 * MIB), grown);
    assert.deepEqual(await pool.find("v-p-1"), grown);
    assert.equal(await read(pool, grown, 4), "kept");
    assert.equal(await failure(pool.grow("v-p-9", MIB)), "NOT_FOUND");
  });

  contract("sizes are whole sectors", async (t, folder) => {
    const pool = await opened(t, folder);
    assert.equal((await pool.create("v-p-1", 4097)).size, 8192);
    assert.equal(await failure(pool.create("v-p-2", 0)), "INVALID_ARGUMENT");
    assert.equal(await failure(pool.create("v-p-2", Number.NaN)), "INVALID_ARGUMENT");
  });

  contract("removal is complete and may be repeated", async (t, folder) => {
    const pool = await opened(t, folder);
    const image = await pool.create("v-p-1", 10 * MIB);
    await pool.remove("v-p-1");
    await pool.remove("v-p-1");
    assert.equal(existsSync(image.path), false);
    assert.deepEqual(await pool.list(), []);
    assert.deepEqual(await readdir(layout(folder).images), []);
    assert.equal((await pool.usage()).promisedBytes, 0);
  });

  contract("an image in use is not removed, and the pool not closed", async (t, folder) => {
    const pool = await opened(t, folder);
    const image = await pool.create("v-p-1", 10 * MIB);
    const target = join(folder, "..", "target");
    await mkdir(target);
    const release = blocks
      ? await pool.devices.attach(image).then((device) => () => pool.devices.detach(device))
      : await host.mounts
          .bind(image.path, target, { readOnly: false })
          .then(() => () => host.mounts.unmount(target));
    assert.equal(await failure(pool.remove("v-p-1")), "FAILED_PRECONDITION");
    assert.equal(await failure(pool.close()), "FAILED_PRECONDITION");
    assert.deepEqual(await pool.find("v-p-1"), image);
    await release();
    await pool.remove("v-p-1");
  });

  contract("promises have a limit, with numbers", async (t, folder) => {
    const pool = await opened(t, folder, { overcommit: 0.5 });
    const { totalBytes } = await pool.usage();
    const third = Math.floor(totalBytes / 3 / 4096) * 4096;
    await pool.create("v-p-1", third);
    const error = await pool.create("v-p-2", third).catch((e: unknown) => e);
    assert.equal(codeOf(error), "RESOURCE_EXHAUSTED");
    assert.match(
      String(error),
      new RegExp(`of at most ${describeBytes(Math.floor(totalBytes / 2))} are promised`),
    );
    assert.equal(await failure(pool.clone("v-p-1", "v-p-3", third)), "RESOURCE_EXHAUSTED");
    assert.equal(await failure(pool.grow("v-p-1", third * 2)), "RESOURCE_EXHAUSTED");
    assert.equal((await pool.list()).length, 1);
    for (const id of ["s-p-1", "s-p-2"]) await pool.clone("v-p-1", id, third);
    assert.equal((await pool.usage()).promisedBytes, third, "snapshots promise nothing");
    await pool.remove("v-p-1");
    await pool.create("v-p-2", third);
  });

  contract("many creations at once cannot promise the same bytes", async (t, folder) => {
    const pool = await opened(t, folder, { overcommit: 0.5 });
    const half = async () => (await pool.usage()).totalBytes / 2;
    const before = await half();
    const size = Math.floor((before * 0.9) / 4 / 4096) * 4096;
    const ids = [...Array(8).keys()].map((n) => `v-p-${n}`);
    const outcome = (id: string) =>
      eventually(`${id} to be made, or refused for good`, async () => {
        const what = await failure(pool.create(id, size));
        // Of a busy cluster: it is asked again, as callers do.
        return what !== "UNAVAILABLE" && what;
      });
    const outcomes = await Promise.all(ids.map(outcome));
    const made = outcomes.filter((outcome) => outcome === "success").length;
    // The size of a pool that others share moves while this runs.
    const sizes = [before, await half()].map((bytes) => Math.floor(bytes / size));
    assert.ok(made >= Math.min(...sizes) && made <= Math.max(...sizes), `${made} made, ${sizes} fit`);
    assert.equal(outcomes.filter((each) => each === "RESOURCE_EXHAUSTED").length, 8 - made, String(outcomes));
  });

  contract("the reserve is kept", async (t, folder) => {
    const pool = await opened(t, folder);
    pool.limit({ reserve: (await pool.usage()).totalBytes * 2 });
    const error = await pool.create("v-p-1", MIB).catch((e: unknown) => e);
    assert.equal(codeOf(error), "RESOURCE_EXHAUSTED");
    assert.match(String(error), /in reserve/);
  });

  contract("names that could leave the folder are refused", async (t, folder) => {
    const pool = await opened(t, folder);
    for (const id of ["../x", "v-../x", "v-a/b", "", "x-1", "v-A", ".new-1", `v-${"a".repeat(200)}`]) {
      assert.equal(await failure(pool.create(id, MIB)), "INVALID_ARGUMENT");
      assert.equal(await failure(pool.find(id)), "INVALID_ARGUMENT");
      assert.equal(await failure(pool.remove(id)), "INVALID_ARGUMENT");
      assert.equal(await failure(pool.clone(id, "v-p-1", MIB)), "INVALID_ARGUMENT");
    }
  });

  contract("a second owner is refused while the first lives", async (t, folder) => {
    const pool = await opened(t, folder);
    const second = created(folder);
    const error = await second.open().catch((e: unknown) => e);
    assert.equal(codeOf(error), "FAILED_PRECONDITION");
    assert.match(String(error), new RegExp(String(process.pid)));
    await pool.close();
    await second.open();
    await second.close();
  });
}
