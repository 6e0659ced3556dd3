import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, open, readdir, readFile, rm, stat, statfs, truncate, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { type TestContext, test } from "node:test";
import { eventually, everyday, thorough } from "@mooring/store/testing";
import { EngineError } from "../errors.ts";
import { createHost } from "../host/create-host.ts";
import { makeFilesystem } from "../host/filesystems.ts";
import { attachmentAt } from "../testing/attachment-at.ts";
import { MIB, scratch } from "../testing/scratch.ts";
import type { PoolBackend } from "./backend.ts";
import { createPool, type PoolOptions } from "./create-pool.ts";
import { poolLayout } from "./layout.ts";

const host = createHost();
const THICK = { thick: true };

interface Opened {
  pool: PoolBackend;
  path: string;
  /** A device of an image, as volumes get it. */
  device(id: string): Promise<string>;
}

async function opened(t: TestContext, more: Partial<PoolOptions> = {}, folder?: string): Promise<Opened> {
  const path = join(folder ?? (await scratch(t, host)), "pool");
  const pool = createPool("xfs", { host, path, size: 400 * MIB, overcommit: 10, ...more });
  t.after(() => pool.close().catch(() => {}));
  await pool.open();
  const device = async (id: string): Promise<string> => {
    const image = await pool.find(id);
    assert.ok(image);
    // It goes with the folder, by its file: its number may be somebody else's by then.
    const attached = await host.loops.attach(image.path, { discard: image.thick !== true });
    return attached.path;
  };
  return { pool, path, device };
}

const CHUNK = 2 * MIB;

/** Bytes that reached the disk before an error. */
async function write(path: string, bytes: number): Promise<number> {
  const handle = await open(path, "r+");
  const chunk = randomBytes(CHUNK);
  try {
    for (let done = 0; done < bytes; done += CHUNK) {
      try {
        await handle.write(chunk, 0, CHUNK, done);
        await handle.datasync();
      } catch {
        return done;
      }
    }
    return bytes;
  } finally {
    await handle.close();
  }
}

/** Until nothing is free, by a thin neighbour. */
async function fill({ pool, device }: Opened): Promise<void> {
  await pool.create("v-p-thin", 512 * MIB);
  const thin = await device("v-p-thin");
  assert.ok((await write(thin, 512 * MIB)) < 512 * MIB, "the pool is full");
}

const codeOf = async (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "success",
    (error: unknown) => (error instanceof EngineError ? error.code : error),
  );

test(
  "a thick volume goes on when a thin neighbour has filled the pool, also after mkfs, fstrim and a snapshot",
  everyday(),
  async (t) => {
    const world = await opened(t);
    const { pool, device } = world;
    const before = await pool.usage();
    const { path } = await pool.create("v-p-1", 80 * MIB, THICK);
    const after = await pool.usage();
    assert.ok(before.freeBytes - after.freeBytes >= 80 * MIB);
    assert.equal(after.thickBytes, 80 * MIB);

    const disk = await device("v-p-1");
    const target = join(world.path, "..", "m");
    await mkdir(target);
    await makeFilesystem(host.exec, { device: disk, type: "ext4", formatted: undefined });
    await host.mounts.mount({ source: disk, target, fsType: "ext4" });
    t.after(() => host.mounts.unmount(target));
    const file = join(target, "data");
    await writeFile(file, randomBytes(40 * MIB), { flush: true });
    await host.exec.run("sync", ["--file-system", target]);
    const snapshot = await pool.clone("v-p-1", "s-p-1", 80 * MIB);
    await rm(file);
    await host.exec.try("fstrim", [target]);
    assert.ok((await stat(path)).blocks * 512 >= 80 * MIB, "nothing was punched out");

    await fill(world);
    // ext4 keeps some for itself.
    await writeFile(file, "");
    assert.equal(await write(file, 60 * MIB), 60 * MIB);
    assert.equal((await stat(snapshot.path)).size, 80 * MIB);
  },
);

test(
  "raw: discards and zeroing are refused or written, and the device's next file has its discards back",
  thorough(),
  async (t) => {
    const { pool, device } = await opened(t);
    const { path } = await pool.create("v-p-1", 16 * MIB, THICK);
    const disk = await device("v-p-1");
    const discardOf = async (name: string): Promise<number> =>
      Number(await readFile(`/sys/block/${basename(name)}/queue/discard_max_bytes`, "utf8"));
    assert.equal(await discardOf(disk), 0);
    assert.notEqual((await host.exec.try("blkdiscard", [disk])).exitCode, 0);
    await host.exec.run("blkdiscard", ["--zeroout", disk]);
    assert.equal((await stat(path)).blocks * 512, 16 * MIB);
    await host.loops.detach(await attachmentAt(host, disk));
    // Somebody else may take the number first, or have it open so that it stays as it is until it is attached by us.
    const free = async (mine: string): Promise<boolean> => {
      if (existsSync(`/sys/block/${basename(mine)}`)) return false;
      const taken = await host.exec.try("losetup", [mine, (await pool.create("v-p-2", 16 * MIB)).path]);
      return taken.exitCode === 0;
    };
    let mine = "";
    await eventually("a number that is free", async () => {
      mine = await device("v-p-1");
      await host.loops.detach(await attachmentAt(host, mine));
      return free(mine);
    });
    assert.ok((await discardOf(mine)) > 0);
    await host.exec.run("losetup", ["--detach", mine]);
  },
);

test(
  "a snapshot of a thick volume is refused where a copy does not fit, and one that is there costs no write",
  thorough(),
  async (t) => {
    const world = await opened(t);
    const { pool, device } = world;
    await pool.create("v-p-1", 160 * MIB, THICK);
    assert.equal(await write(await device("v-p-1"), 160 * MIB), 160 * MIB);
    await pool.create("v-p-2", 80 * MIB, THICK);
    const refused = await pool.clone("v-p-1", "s-p-1", 160 * MIB).catch((error: unknown) => error);
    assert.ok(refused instanceof EngineError && refused.code === "RESOURCE_EXHAUSTED", String(refused));
    assert.match(refused.message, /set aside for a thick volume, or for a copy of one/);
    const group = await pool.beginCopy([{ source: "v-p-1", id: "s-p-2" }]).catch((error: unknown) => error);
    assert.ok(group instanceof EngineError && group.code === "RESOURCE_EXHAUSTED", String(group));
    assert.deepEqual((await pool.list()).map(({ id }) => id).sort(), ["v-p-1", "v-p-2"]);

    // Nothing is written in it, so nothing has to be copied.
    const group2 = await pool.beginCopy([{ source: "v-p-2", id: "s-p-2" }]);
    await group2.copy();
    await group2.finish();
    await fill(world);
    assert.equal(await write(await device("v-p-2"), 80 * MIB), 80 * MIB);
    assert.equal(await write(await device("v-p-1"), 160 * MIB), 160 * MIB);
  },
);

test(
  "copies, restores and growth of thick volumes are thick, and leave their source as it was",
  thorough(),
  async (t) => {
    const world = await opened(t);
    const { pool, device } = world;
    await pool.create("v-p-1", 30 * MIB, THICK);
    await write(await device("v-p-1"), 30 * MIB);
    const snapshot = await pool.clone("v-p-1", "s-p-1", 30 * MIB);
    const bytes = await readFile(snapshot.path);
    // A thick copy of a snapshot, a thin one of a thick volume, one in the place of the volume, and a group copy.
    await pool.clone("s-p-1", "v-p-2", 40 * MIB, THICK);
    await pool.clone("v-p-1", "v-p-3", 30 * MIB);
    const copy = await pool.beginCopy([{ source: "v-p-1", id: "v-p-4", thick: true }]);
    await copy.copy();
    await copy.finish();
    await host.loops.detach(await attachmentAt(host, await device("v-p-1")));
    await pool.replace("s-p-1", "v-p-1", 30 * MIB);
    await pool.grow("v-p-1", 50 * MIB);
    for (const id of ["v-p-1", "v-p-2", "v-p-4"]) {
      const image = await pool.find(id);
      assert.equal(image?.thick, true, id);
      assert.ok((await readFile(image.path)).subarray(0, bytes.length).equals(bytes), id);
    }
    assert.equal((await pool.usage()).thickBytes, (50 + 40 + 30) * MIB);
    await fill(world);
    assert.equal(await write(await device("v-p-1"), 50 * MIB), 50 * MIB);
    assert.equal(await write(await device("v-p-2"), 40 * MIB), 40 * MIB);
    assert.equal(await write(await device("v-p-4"), 30 * MIB), 30 * MIB);
    assert.ok((await readFile(snapshot.path)).equals(bytes), "a snapshot stays as it was");
  },
);

test(
  "the budget: what is thick cannot be promised twice, and what is free is what it may take",
  everyday(),
  async (t) => {
    const { pool } = await opened(t, { overcommit: 2 });
    const { totalBytes, freeBytes } = await pool.usage();
    assert.equal(await codeOf(pool.create("v-p-1", freeBytes, THICK)), "RESOURCE_EXHAUSTED");
    await pool.create("v-p-1", 100 * MIB, THICK);
    assert.equal(await codeOf(pool.create("v-p-1", 100 * MIB)), "ALREADY_EXISTS");
    const most = 2 * (totalBytes - 100 * MIB);
    assert.equal(await codeOf(pool.create("v-p-2", most + 4096)), "RESOURCE_EXHAUSTED");
    await pool.create("v-p-2", most - 2 * MIB);
    assert.equal(await codeOf(pool.create("v-p-3", 4 * MIB, THICK)), "RESOURCE_EXHAUSTED");
    await pool.remove("v-p-2");
    // Many at once: each is promised what the others have left.
    const quarter = Math.floor((await pool.usage()).freeBytes / 4 / 4096) * 4096;
    const outcomes = await Promise.all(
      [4, 5, 6, 7].map((n) => codeOf(pool.create(`v-p-${n}`, quarter, THICK))),
    );
    assert.deepEqual(outcomes.sort(), ["RESOURCE_EXHAUSTED", "success", "success", "success"]);
    for (const id of ["v-p-1", "v-p-4", "v-p-5", "v-p-6", "v-p-7"]) await pool.remove(id);
    const { promisedBytes, thickBytes } = await pool.usage();
    assert.deepEqual({ promisedBytes, thickBytes }, { promisedBytes: 0, thickBytes: 0 });
  },
);

test("the disk below a pool: a thick volume has its blocks there as well", thorough(), async (t) => {
  const dir = await scratch(t, host);
  const disk = join(dir, "disk");
  const below = join(dir, "below");
  await writeFile(disk, "");
  await truncate(disk, 300 * MIB);
  await host.exec.run("mkfs.ext4", ["-q", "-b", "4096", disk]);
  await mkdir(below);
  const device = (await host.loops.attach(disk)).path;
  await host.mounts.mount({ source: device, target: below, fsType: "ext4" });
  t.after(() => host.mounts.unmount(below));
  const world = await opened(t, {}, below);
  await world.pool.create("v-p-1", 80 * MIB, THICK);
  // More than that disk has left.
  assert.equal(await codeOf(world.pool.create("v-p-2", 200 * MIB, THICK)), "RESOURCE_EXHAUSTED");
  assert.deepEqual((await readdir(poolLayout("xfs", world.path).images)).sort(), [
    "v-p-1.img",
    "v-p-1.thick",
  ]);
  await host.exec.try("dd", ["if=/dev/zero", `of=${join(below, "full")}`, "bs=1M"]);
  assert.ok((await statfs(below)).bavail < 256);
  assert.equal(await write(await world.device("v-p-1"), 80 * MIB), 80 * MIB);
});

for (const type of ["btrfs", "directory"] as const)
  test(`${type}: a thick volume is refused`, everyday(), async (t) => {
    const path = join(await scratch(t, host), "pool");
    const pool = createPool(type, { host, path, size: 400 * MIB });
    t.after(() => pool.close().catch(() => {}));
    await pool.open();
    const refused = await pool.create("v-p-1", MIB, THICK).catch((error: unknown) => error);
    assert.ok(refused instanceof EngineError && refused.code === "INVALID_ARGUMENT", String(refused));
    assert.match(refused.message, new RegExp(`of type ${type} has no thick volumes`));
  });
