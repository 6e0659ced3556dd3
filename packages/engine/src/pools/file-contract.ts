import assert from "node:assert/strict";
import { appendFile, mkdir, readdir, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { LocalPoolType } from "../api/pool.ts";
import { EngineError } from "../errors.ts";
import type { Host } from "../host/host.ts";
import { contents } from "../testing/image-contents.ts";
import { GIB, MIB, scratch } from "../testing/scratch.ts";
import type { PoolBackend } from "./backend.ts";
import { createPool } from "./create-pool.ts";
import { poolLayout } from "./layout.ts";

const failure = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "success",
    (error: unknown) => (error instanceof EngineError ? error.code : error),
  );

/**
 * What pools have to do whose images are files, or folders, that an operator can truncate, and a kill can leave half-made.
 */
export function fileContract(type: LocalPoolType, host: Host): void {
  const blocks = type !== "directory";
  const { write, read } = contents(blocks);
  const contract = (title: string, body: (t: TestContext, folder: string) => Promise<void>): void => {
    test(`${type}: ${title}`, async (t) => body(t, join(await scratch(t, host), "pool")));
  };
  const opened = async (t: TestContext, path: string): Promise<PoolBackend> => {
    const pool = createPool(type, { host, path, size: 2 * GIB });
    t.after(() => pool.close().catch(() => {}));
    await pool.open();
    return pool;
  };

  contract("what keeps a new image takes no space", async (t, folder) => {
    const image = await (await opened(t, folder)).create("v-p-1", GIB);
    const { stdout } = await host.exec.run("du", ["--summarize", "--block-size=1", image.path]);
    assert.ok(Number.parseInt(stdout, 10) < 64 * MIB, stdout);
  });

  contract(
    "half-made images are gone after the next open, and a retry makes them whole",
    async (t, folder) => {
      const first = await opened(t, folder);
      await write(first, await first.create("v-p-1", 10 * MIB), "kept");
      await first.close();
      const pool = await opened(t, folder);
      const { images } = poolLayout(type, folder);
      if (blocks) await writeFile(join(images, ".new-s-p-1"), "half");
      else await mkdir(join(images, ".new-s-p-1", "data"), { recursive: true });
      // Also without a new open: the temporary name is in no copy's way.
      const clone = await pool.clone("v-p-1", "s-p-1", 10 * MIB);
      assert.equal(await read(pool, clone, 4), "kept");
      if (blocks) await writeFile(join(images, ".new-v-p-2"), "half");
      else await mkdir(join(images, ".gone-v-p-2", "data"), { recursive: true });
      await pool.close();
      const again = await opened(t, folder);
      assert.deepEqual((await again.list()).map((i) => i.id).sort(), ["s-p-1", "v-p-1"]);
      assert.equal((await readdir(images)).length, 2);
    },
  );

  contract("damaged images are reported, not guessed", async (t, folder) => {
    const pool = await opened(t, folder);
    const image = await pool.create("v-p-1", 10 * MIB);
    if (blocks) {
      await truncate(image.path, 5 * MIB + 1);
      assert.equal((await pool.find("v-p-1"))?.size, 5 * MIB + 1);
      assert.equal(await failure(host.loops.attach(image.path)), "DATA_LOSS");
      await mkdir(join(poolLayout(type, folder).images, "v-p-2.img"));
      assert.equal(await failure(pool.find("v-p-2")), "DATA_LOSS");
      await symlink(image.path, join(poolLayout(type, folder).images, "v-p-3.img"));
      assert.equal(await failure(pool.find("v-p-3")), "DATA_LOSS");
    } else {
      await pool.create("v-p-2", 10 * MIB);
      const size = join(image.path, "..", "size");
      await appendFile(size, "nonsense");
      assert.equal(await failure(pool.find("v-p-1")), "DATA_LOSS");
      await rm(size);
      await mkdir(size);
      assert.equal(await failure(pool.find("v-p-1")), "DATA_LOSS");
    }
    // Theirs alone: the pool opens, and has all others.
    await pool.close();
    await pool.open();
    const ids = (await pool.list()).map(({ id }) => id);
    assert.deepEqual(ids, [blocks ? "v-p-1" : "v-p-2"]);
  });
}
