import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { type TestContext, test } from "node:test";
import { silentLogger } from "@mooring/store";
import { createHost } from "../../host/create-host.ts";
import { makeFilesystem } from "../../host/filesystems.ts";
import type { PoolBackend } from "../../pools/backend.ts";
import { createPool } from "../../pools/create-pool.ts";
import { TEMPORARY } from "../../pools/image-store.ts";
import { GIB, MIB, scratch } from "../../testing/scratch.ts";
import { Freezes } from "../freezes/index.ts";
import { copyMounted } from "./copy-mounted.ts";

const host = createHost();
const ID = "v-p-1";
const SIZE = 64 * MIB;
const BLOCK = 4096;
/** So many that it is worth a pre-copy. */
const PIECES = 2000;

interface Stage {
  dir: string;
  pool: PoolBackend;
  image: string;
  mount: string;
}

/** A mounted volume whose image is in many pieces. */
async function stage(t: TestContext, type: "xfs" | "btrfs"): Promise<Stage> {
  const undo: (() => unknown)[] = [];
  t.after(async () => {
    for (const work of undo.reverse()) await work();
  });
  const dir = await scratch({ after: (work) => undo.push(work) }, host);
  const pool = createPool(type, { host, path: join(dir, "pool"), size: 2 * GIB });
  undo.push(() => pool.close());
  await pool.open();
  const { path: image } = await pool.create(ID, SIZE);
  const device = await host.loops.attach(image);
  undo.push(() => host.loops.detach(device));
  await makeFilesystem(host.exec, { device: device.path, type: "ext4", formatted: undefined });
  const mount = join(dir, "m");
  await mkdir(mount);
  await host.mounts.mount({ source: device.path, target: mount, fsType: "ext4" });
  undo.push(() => host.mounts.unmount(mount));
  // Written backwards with a hole after each: as many extents of the image as there are pieces.
  const file = await open(join(mount, "pieces"), "w");
  for (let piece = PIECES - 1; piece >= 0; piece--)
    await file.write(Buffer.alloc(BLOCK, piece), 0, BLOCK, 2 * piece * BLOCK);
  await file.sync();
  await file.close();
  return { dir, pool, image, mount };
}

async function digest(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}

/** Freezes, and what is asked when all is still and when the writers are about to go on. */
function watched(
  { dir }: Stage,
  { frozen, thawing }: { frozen(): Promise<void>; thawing(attempt: number): Promise<boolean> },
): Freezes {
  const freezes = new Freezes(join(dir, "state"), silentLogger);
  const { arm } = freezes;
  let attempts = 0;
  freezes.arm = async (targets, seconds) => {
    const freezer = await arm.call(freezes, targets, seconds);
    const attempt = ++attempts;
    return {
      freeze: async () => {
        await freezer.freeze();
        await frozen();
      },
      thaw: async () => {
        const covered = await thawing(attempt);
        return (await freezer.thaw()) && covered;
      },
    };
  };
  return freezes;
}

const temporaries = async ({ image }: Stage): Promise<string[]> =>
  (await readdir(dirname(image)))
    .filter((name) => name.startsWith(TEMPORARY))
    .map((name) => join(dirname(image), name));

test("xfs: an image in many pieces is copied before its writers stop, and made durable after they go on", async (t) => {
  const made = await stage(t, "xfs");
  const { pool, mount, image } = made;
  await writeFile(join(mount, "f"), "before");
  let wanted = "";
  let copied = 0;
  const freezes = watched(made, {
    frozen: async () => {
      wanted = await digest(image);
      for (const path of await temporaries(made)) copied += (await stat(path)).blocks;
    },
    thawing: async () => {
      assert.equal(await pool.find("s-1"), undefined, "the rename is not waited for");
      return true;
    },
  });
  const copy = { source: ID, id: "s-1" };
  const signal = new AbortController().signal;
  const result = await copyMounted(
    { host, logger: silentLogger, freezes },
    { backend: pool, copy, mount, signal },
  );
  assert.ok(copied > 0.9 * (await stat(image)).blocks, `${copied} blocks were there before the freeze`);
  assert.equal(await digest(result.path), wanted);
  assert.deepEqual(await temporaries(made), []);
  assert.equal(await readFile(join(mount, "f"), "utf8"), "before");
});

test("xfs: a copy whose freeze ended too early is made again whole, and larger where that is asked for", async (t) => {
  const made = await stage(t, "xfs");
  const { pool, mount, image } = made;
  let wanted = "";
  let attempts = 0;
  const freezes = watched(made, {
    frozen: async () => {
      attempts++;
      wanted = await digest(image);
    },
    thawing: async (attempt) => attempt > 1,
  });
  const copy = { source: ID, id: "v-p-2", size: 2 * SIZE };
  const signal = new AbortController().signal;
  const result = await copyMounted(
    { host, logger: silentLogger, freezes },
    { backend: pool, copy, mount, signal },
  );
  assert.equal(attempts, 2);
  assert.equal(result.size, 2 * SIZE);
  assert.equal((await stat(result.path)).size, 2 * SIZE);
  await host.exec.run("truncate", ["--size", String(SIZE), result.path]);
  assert.equal(await digest(result.path), wanted);
  assert.deepEqual(await temporaries(made), []);
});
