import assert from "node:assert/strict";
import { mkdir, rename, rm, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { Snapshots } from "../api/snapshot.ts";
import { Volumes } from "../api/volume.ts";
import { Bench } from "../testing/agent.ts";
import { attachmentAt } from "../testing/attachment-at.ts";
import { MIB, sparse } from "../testing/scratch.ts";
import { findLeaks } from "./leaks/find-leaks.ts";

const leaksOf = async (bench: Bench): Promise<string[]> => {
  const { store, host, stateDir } = bench;
  return (await findLeaks({ store, host, stateDir })).map((leak) => `${leak.kind} ${leak.subject}`).sort();
};

test("a healthy node has no leaks, in whatever state its volumes are", async (t) => {
  const bench = await Bench.open(t);
  await bench.createVolume("v-p-1");
  await bench.createVolume("v-p-2");
  await bench.volume("v-p-1", "detached");
  await bench.volume("v-p-2", "detached");
  const device = await bench.attached("v-p-1");
  await bench.createSnapshot("s-p-1", "v-p-1");
  await bench.snapshot("s-p-1");
  assert.deepEqual(await leaksOf(bench), []);
  const target = join(bench.stateDir, "published");
  await mkdir(target);
  await bench.host.exec.run("mkfs.ext4", ["-q", device]);
  await bench.host.mounts.mount({ source: device, target, fsType: "ext4" });
  assert.deepEqual(await leaksOf(bench), []);
  await bench.host.mounts.unmount(target);
  await bench.detached("v-p-1");
  await bench.deleted(Volumes, "v-p-1");
  await bench.deleted(Volumes, "v-p-2");
  await bench.deleted(Snapshots, "s-p-1");
  assert.deepEqual(await leaksOf(bench), []);
});

test("a mounted folder volume is explained, too", async (t) => {
  const bench = await Bench.open(t, "directory");
  await bench.createVolume("v-p-1");
  await bench.volume("v-p-1", "detached");
  const source = await bench.attached("v-p-1");
  const target = join(bench.stateDir, "published");
  await mkdir(target);
  await bench.host.mounts.bind(source, target, { readOnly: true });
  assert.deepEqual(await leaksOf(bench), []);
  await bench.host.mounts.unmount(target);
});

test("every kind of leak is found and comes with what to do", async (t) => {
  const bench = await Bench.open(t, "xfs", { behindItsBack: true });
  const { host, stateDir } = bench;
  await bench.createVolume("v-p-1");
  await bench.volume("v-p-1", "detached");
  const images = dirname(bench.imagePath("v-p-1"));

  const orphan = await sparse(bench.imagePath("v-p-9"), MIB);
  const half = join(images, ".new-v-p-8");
  await writeFile(half, "half");
  await utimes(half, new Date(0), new Date(0));
  const device = (await host.loops.attach(orphan)).path;
  const mount = join(stateDir, "stray");
  await mkdir(mount);
  await host.mounts.mount({ source: "tmpfs", target: mount, fsType: "tmpfs" });
  const pool = join(stateDir, "pools", "old");
  await mkdir(pool);
  await writeFile(join(pool, "pool.img"), "");
  await rename(bench.imagePath("v-p-1"), join(bench.dir, "aside")).catch(() => rm(bench.imagePath("v-p-1")));

  assert.deepEqual(await leaksOf(bench), [
    `device-without-volume ${device}`,
    `half-made-image ${half}`,
    `image-without-record ${orphan}`,
    `pool-without-record ${pool}`,
    "record-without-image Volume/v-p-1",
    `unexplained-mount ${mount}`,
  ]);
  const explained = await findLeaks({
    store: bench.store,
    host,
    stateDir,
    explains: (m) => m.target === mount,
  });
  assert.equal(explained.length, 5);
  await host.mounts.unmount(mount);
  await host.loops.detach(await attachmentAt(host, device));
});
