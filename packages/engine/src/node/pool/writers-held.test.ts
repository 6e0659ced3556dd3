import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Events, mutate } from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { Pools, spaceLow, writersHeldMessage } from "../../api/pool.ts";
import { Snapshots } from "../../api/snapshot.ts";
import { Bench, POOL, until } from "../../testing/agent.ts";
import { keepersOf } from "../../testing/keepers.ts";
import { GIB, MIB } from "../../testing/scratch.ts";

const FULL = { poolSize: 512 * MIB, overcommit: 4, holdWriters: true };

test("a full pool reports that it holds its writers, also after a restart, and lets them go on when it grows", async (t) => {
  const bench = await Bench.open(t, "xfs", FULL);
  await bench.createVolume("v-p-1", { size: GIB, volumeMode: "Block" });
  await bench.volume("v-p-1", "detached");
  await bench.place("v-p-1", "node-1");
  const { status } = await bench.volume("v-p-1", "attached");
  const writer = spawn("dd", ["if=/dev/zero", `of=${status?.device}`, "bs=1M", "count=480", "oflag=direct"]);
  const ended = once(writer, "exit");
  try {
    const full = await until(bench.store, Pools, POOL, (pool) => writersHeldMessage(pool) !== undefined);
    assert.match(writersHeldMessage(full) ?? "", /writes to its volumes wait/);
    assert.ok(spaceLow(full) !== undefined);
    const reported = (wanted: string) =>
      bench.volumeWhere("v-p-1", (volume) =>
        (volume.status?.conditions ?? []).some(
          ({ type, status: reported }) => type === "WritersHeld" && reported === wanted,
        ),
      );
    await reported("True");
    await bench.createVolume("v-p-2", { size: MIB, volumeMode: "Block" });
    const refused = await bench.volumeWhere("v-p-2", (volume) => volume.status?.error !== undefined);
    assert.match(refused.status?.error?.message ?? "", /suspended until there is room|in reserve/);

    await bench.stop();
    await bench.start();
    assert.equal(writer.exitCode, null);
    await mutate(bench.store, Pools, { name: POOL }, (pool) => {
      pool.spec.size = GIB;
    });
    assert.deepEqual(await ended, [0, null]);
    const after = await until(
      bench.store,
      Pools,
      POOL,
      (pool) => writersHeldMessage(pool) === undefined && (pool.status?.totalBytes ?? 0) > 900 * MIB,
    );
    assert.equal(after.status?.ready, true);
    await reported("False");
    await bench.volume("v-p-2", "detached");
    await eventually("an event of each change, once", async () => {
      const events = (await bench.store.list(Events)).items.filter(
        (one) => one.involvedObject?.kind === "Volume",
      );
      const reasons = events.map(({ reason }) => reason);
      return reasons.includes("WritersHeld") && reasons.includes("WritersGoOn");
    });
  } finally {
    if (writer.exitCode === null) writer.kill("SIGKILL");
  }
});

test("what a pool that may hold its writers reports as free is what they can still write: at most an eighth is kept, and nothing is free while they wait", async (t) => {
  const bench = await Bench.open(t, "xfs", { ...FULL, poolSize: 500 * MIB });
  await bench.createVolume("v-p-1", { size: GIB, volumeMode: "Block" });
  await bench.volume("v-p-1", "detached");
  await bench.place("v-p-1", "node-1");
  const { status } = await bench.volume("v-p-1", "attached");
  const before = await until(bench.store, Pools, POOL, (pool) => pool.status?.ready === true);
  const { freeBytes = 0, totalBytes = 0 } = before.status ?? {};
  const mount = join(bench.stateDir, "pools", POOL, "mnt");
  const { bavail, bsize } = await statfs(mount);
  const kept = bavail * bsize - freeBytes;
  assert.ok(kept <= totalBytes / 8 + MIB && kept > totalBytes / 16, `${kept} of ${totalBytes} are kept`);
  const writer = spawn("dd", ["if=/dev/zero", `of=${status?.device}`, "bs=1M", "count=480", "oflag=direct"]);
  const ended = once(writer, "exit");
  try {
    const full = await until(bench.store, Pools, POOL, (pool) => writersHeldMessage(pool) !== undefined);
    assert.equal(full.status?.freeBytes, 0);
    const { blocks } = await stat(join(mount, "images/v-p-1.img"));
    assert.ok(Math.abs(blocks * 512 - freeBytes) < 8 * MIB, `${blocks * 512} of ${freeBytes} were written`);
    // The keeper counts what is left, and a frozen XFS shows more.
    assert.match(
      writersHeldMessage(full) ?? "",
      /^the pool is full: .*until there is room; delete volumes or snapshots in it, or make it larger$/,
    );
  } finally {
    writer.kill("SIGKILL");
    await mutate(bench.store, Pools, { name: POOL }, (pool) => {
      pool.spec.holdWriters = false;
    });
    await ended;
  }
  // With nothing held back there is as much as the file system has.
  const after = await until(bench.store, Pools, POOL, (pool) => (pool.status?.freeBytes ?? 0) > kept / 2);
  assert.equal(writersHeldMessage(after), undefined);
});

test("a pool that holds its writers gives up a snapshot, and its writers go on with the room", async (t) => {
  const bench = await Bench.open(t, "xfs", FULL);
  const write = (device: string | undefined, count: number) =>
    spawn("dd", ["if=/dev/zero", `of=${device}`, "bs=1M", `count=${count}`, "oflag=direct", "conv=notrunc"]);
  await bench.createVolume("v-p-1", { size: 500 * MIB, volumeMode: "Block" });
  await bench.volume("v-p-1", "detached");
  await bench.place("v-p-1", "node-1");
  const { status } = await bench.volume("v-p-1", "attached");
  assert.deepEqual(await once(write(status?.device, 180), "exit"), [0, null]);
  await bench.createSnapshot("s-p-1", "v-p-1");
  await until(bench.store, Snapshots, "s-p-1", (snapshot) => snapshot.status?.readyToUse === true);
  // Every byte is in the snapshot as well, so that this takes as much room once more.
  const writer = write(status?.device, 180);
  const ended = once(writer, "exit");
  await until(bench.store, Pools, POOL, (pool) => writersHeldMessage(pool) !== undefined);
  await bench.store.delete(Snapshots, { name: "s-p-1" });
  assert.deepEqual(await ended, [0, null]);
  await until(bench.store, Pools, POOL, (pool) => writersHeldMessage(pool) === undefined);
});

test("whether a pool holds its writers is changed while they write, and while no agent is there", async (t) => {
  const bench = await Bench.open(t, "xfs", { ...FULL, holdWriters: false });
  const hold = (holdWriters: boolean) =>
    mutate(bench.store, Pools, { name: POOL }, (pool) => {
      pool.spec.holdWriters = holdWriters;
    });
  const isHeld = (wanted: boolean) =>
    until(bench.store, Pools, POOL, (pool) => (writersHeldMessage(pool) !== undefined) === wanted);
  const keepers = () => keepersOf(join(bench.stateDir, "pools", POOL));
  await bench.createVolume("v-p-1", { size: GIB, volumeMode: "Block" });
  await bench.volume("v-p-1", "detached");
  await bench.place("v-p-1", "node-1");
  const { status } = await bench.volume("v-p-1", "attached");
  await hold(true);
  await eventually("a keeper to be there", async () => (await keepers()).length > 0);
  const writer = spawn("dd", ["if=/dev/zero", `of=${status?.device}`, "bs=1M", "count=600", "oflag=direct"]);
  const ended = once(writer, "exit");
  try {
    await isHeld(true);
    assert.equal(writer.exitCode, null);
    await hold(false);
    assert.deepEqual(await ended, [1, null], "more than there is was written");
    await isHeld(false);
    await eventually("no keeper to be left", async () => (await keepers()).length === 0);

    await hold(true);
    await isHeld(true);
    await bench.stop();
    assert.ok((await keepers()).length > 0, "a keeper outlives its agent");
    await hold(false);
    await bench.start();
    await isHeld(false);
    assert.deepEqual(await keepers(), []);
  } finally {
    if (writer.exitCode === null) writer.kill("SIGKILL");
  }
});
