import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, open, readdir, rename, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { isNotFound, mutate } from "@mooring/store";
import { covers, eventually, everyday, sample, thorough } from "@mooring/store/testing";
import { ENGINE_FINALIZER } from "../api/names.ts";
import { NodeAgents } from "../api/node-agent.ts";
import { Pools } from "../api/pool.ts";
import { Volumes } from "../api/volume.ts";
import { growMounted, makeFilesystem } from "../host/filesystems.ts";
import { Bench, NODE, POOL, until, volumeObject } from "../testing/agent.ts";
import { attachmentAt } from "../testing/attachment-at.ts";
import { GIB, MIB } from "../testing/scratch.ts";

for (const type of sample(["xfs", "btrfs", "directory"] as const, { everyday: 1 })) {
  test(`${type}: a volume is made, attached, detached and removed with its data`, async (t) => {
    covers("LHA-026", "LHA-027");
    const bench = await Bench.open(t, type);
    await bench.createVolume("v-p-1");
    const made = await bench.volume("v-p-1", "detached");
    assert.deepEqual(made.metadata.finalizers, [ENGINE_FINALIZER]);
    assert.equal(made.status?.size, 64 * MIB);
    assert.equal(made.status?.ownerID, NODE);
    assert.equal(made.status?.currentNodeID, undefined);
    assert.ok(existsSync(bench.imagePath("v-p-1")));

    const device = await bench.attached("v-p-1");
    const attached = await bench.volume("v-p-1", "attached");
    assert.equal(attached.status?.currentNodeID, NODE);
    assert.equal(attached.status?.robustness, "healthy");
    if (type === "directory") assert.equal(device, join(bench.imagePath("v-p-1"), "data"));
    else assert.equal((await bench.host.loops.find(bench.imagePath("v-p-1")))?.path, device);

    await bench.detached("v-p-1");
    const detached = await bench.volume("v-p-1", "detached");
    assert.equal(detached.status?.currentNodeID, undefined);
    assert.equal(detached.status?.device, undefined);
    assert.equal(await bench.host.loops.find(bench.imagePath("v-p-1")), undefined);

    await bench.deleted(Volumes, "v-p-1");
    assert.equal(existsSync(bench.imagePath("v-p-1")), false);
  });
}

test("the agent reports that its node is alive and its pool is ready", everyday(), async (t) => {
  const bench = await Bench.open(t);
  const agent = await bench.store.get(NodeAgents, { name: NODE });
  assert.equal(agent.status?.state, "Ready");
  assert.ok(Date.now() - Date.parse(agent.status?.heartbeat ?? "") < 60_000);
  const pool = await bench.store.get(Pools, { name: POOL });
  assert.equal(pool.status?.ready, true);
  assert.equal(pool.status?.conditions?.[0]?.status, "True");
  await bench.createVolume("v-p-1");
  const used = await until(bench.store, Pools, POOL, (p) => p.status?.promisedBytes === 64 * MIB);
  assert.ok((used.status?.totalBytes ?? 0) > GIB);
});

/** The volume `v-p-1`, attached, with an ext4 that is mounted. */
async function mounted(bench: Bench): Promise<{ device: string; target: string }> {
  await bench.createVolume("v-p-1");
  await bench.volume("v-p-1", "detached");
  const device = await bench.attached("v-p-1");
  await makeFilesystem(bench.host.exec, { device, type: "ext4", formatted: undefined });
  const target = join(bench.dir, "m");
  await mkdir(target);
  await bench.host.mounts.mount({ source: device, target, fsType: "ext4" });
  return { device, target };
}

test(
  "a mounted volume is not detached; its error says why, until the mount is gone",
  everyday(),
  async (t) => {
    covers("LHA-027");
    const bench = await Bench.open(t);
    const { target } = await mounted(bench);
    await bench.place("v-p-1", "");
    const refused = await bench.volume("v-p-1", "detaching", (v) => v.status?.error !== undefined);
    assert.equal(refused.status?.error?.code, "FAILED_PRECONDITION");
    assert.match(refused.status?.error?.message ?? "", new RegExp(`mounted at ${target}`));
    assert.equal(refused.status?.currentNodeID, NODE);
    await writeFile(join(target, "f"), "still writable", { flush: true });
    await bench.host.mounts.unmount(target);
    const detached = await bench.volume("v-p-1", "detached");
    assert.equal(detached.status?.error, undefined);
  },
);

test(
  "a mounted folder volume is not detached either, nor where its pool lies behind a symbolic link",
  everyday(),
  async (t) => {
    const prepare = async ({ dir, stateDir }: Bench): Promise<void> => {
      await mkdir(join(dir, "disk"));
      await mkdir(join(stateDir, "pools"), { recursive: true });
      await symlink(join(dir, "disk"), join(stateDir, "pools", POOL));
    };
    const bench = await Bench.open(t, "directory", { prepare });
    await bench.createVolume("v-p-1");
    await bench.volume("v-p-1", "detached");
    const source = await bench.attached("v-p-1");
    const target = join(bench.dir, "m");
    await mkdir(target);
    await bench.host.mounts.bind(source, target, { readOnly: false });
    await bench.place("v-p-1", "");
    await bench.volume("v-p-1", "detaching", (v) => v.status?.error?.code === "FAILED_PRECONDITION");
    await bench.host.mounts.unmount(target);
    await bench.volume("v-p-1", "detached");
  },
);

test("a device that somebody has detached under its mount stays when the mount ends", async (t) => {
  const bench = await Bench.open(t);
  const { device, target } = await mounted(bench);
  await bench.host.exec.run("losetup", ["--detach", device]);
  assert.equal((await bench.host.loops.at(device))?.autoclear, true);
  await mutate(bench.store, Volumes, { name: "v-p-1" }, ({ metadata }) => {
    metadata.labels = { touched: "yes" };
  });
  const stays = async () => (await bench.host.loops.at(device))?.autoclear === false;
  await eventually("the device to stay", stays);
  await bench.host.mounts.unmount(target);
  assert.equal((await bench.host.loops.find(bench.imagePath("v-p-1")))?.path, device);
});

test(
  "deletion waits for whoever has the volume, then takes the data before the record",
  everyday(),
  async (t) => {
    const bench = await Bench.open(t);
    await bench.createVolume("v-p-1");
    await bench.volume("v-p-1", "detached");
    const device = await bench.attached("v-p-1");
    await bench.store.delete(Volumes, { name: "v-p-1" });
    const kept = await bench.volume("v-p-1", "attached", (v) => v.metadata.deletionTimestamp !== undefined);
    assert.equal(kept.status?.device, device);
    await bench.place("v-p-1", "");
    await bench.gone(Volumes, "v-p-1");
    assert.equal(existsSync(bench.imagePath("v-p-1")), false);
  },
);

test("an attached volume grows under its users", everyday(), async (t) => {
  const bench = await Bench.open(t);
  await bench.createVolume("v-p-1", { size: 400 * MIB, fsType: "xfs" });
  await bench.volume("v-p-1", "detached");
  const device = await bench.attached("v-p-1");
  await makeFilesystem(bench.host.exec, { device, type: "xfs", formatted: undefined });
  const target = join(bench.dir, "m");
  await mkdir(target);
  await bench.host.mounts.mount({ source: device, target, fsType: "xfs", options: ["nouuid"] });
  await bench.resize("v-p-1", 800 * MIB);
  const grown = await bench.volume("v-p-1", "attached", (v) => v.status?.size === 800 * MIB);
  assert.equal(grown.status?.device, device);
  assert.equal((await bench.host.loops.find(bench.imagePath("v-p-1")))?.sizeBytes, 800 * MIB);
  await growMounted(bench.host.exec, { device, mountPath: target, type: "xfs" });
  await bench.host.mounts.unmount(target);
});

test(
  "a size that the pool cannot promise is an error on the volume, and a smaller wish heals it",
  everyday(),
  async (t) => {
    const bench = await Bench.open(t);
    await bench.createVolume("v-p-1", { size: 100 * GIB });
    const refused = await bench.volume("v-p-1", "creating", (v) => v.status?.error !== undefined);
    assert.equal(refused.status?.error?.code, "RESOURCE_EXHAUSTED");
    assert.match(refused.status?.error?.message ?? "", /over-commit/);
    await bench.resize("v-p-1", 64 * MIB);
    const made = await bench.volume("v-p-1", "detached");
    assert.equal(made.status?.error, undefined);
  },
);

test("a name that could leave the pool is refused, and its object can be deleted", everyday(), async (t) => {
  const bench = await Bench.open(t);
  const object = volumeObject("x.y");
  object.metadata.finalizers = [ENGINE_FINALIZER];
  await bench.store.create(Volumes, object);
  await until(bench.store, Volumes, "x.y", (v) => v.status?.error?.code === "INVALID_ARGUMENT");
  await bench.deleted(Volumes, "x.y");
});

test(
  "a volume that is wanted on another node stays, and reports where its data is",
  thorough(),
  async (t) => {
    const bench = await Bench.open(t);
    await bench.createVolume("v-p-1");
    await bench.volume("v-p-1", "detached");
    await bench.place("v-p-1", "node-2");
    const refused = await bench.volume("v-p-1", "detached", (v) => v.status?.error !== undefined);
    assert.match(refused.status?.error?.message ?? "", /is on node node-1, not on node-2/);
    await bench.place("v-p-1", "");
    await bench.volume("v-p-1", "detached", (v) => v.status?.error === undefined);
  },
);

test("a lost image is reported and never made anew; found again, the volume works", everyday(), async (t) => {
  const bench = await Bench.open(t);
  await bench.createVolume("v-p-1");
  await bench.volume("v-p-1", "detached");
  const path = bench.imagePath("v-p-1");
  await rename(path, `${path}.aside`);
  await bench.place("v-p-1", NODE);
  const faulted = await bench.volume("v-p-1", "detached", (v) => v.status?.robustness === "faulted");
  assert.equal(faulted.status?.error?.code, "DATA_LOSS");
  assert.equal(existsSync(path), false);
  await rename(`${path}.aside`, path);
  const healed = await bench.volume("v-p-1", "attached");
  assert.equal(healed.status?.robustness, "healthy");
});

test(
  "a detached volume whose image is lost, or truncated, is faulted before anybody needs it",
  thorough(),
  async (t) => {
    const bench = await Bench.open(t);
    for (const id of ["v-p-1", "v-p-2"]) {
      await bench.createVolume(id);
      await bench.volume(id, "detached");
    }
    const faulted = (id: string) => bench.volume(id, "detached", (v) => v.status?.robustness === "faulted");
    await rename(bench.imagePath("v-p-1"), `${bench.imagePath("v-p-1")}.aside`);
    await faulted("v-p-1");
    await truncate(bench.imagePath("v-p-2"), 32 * MIB);
    await faulted("v-p-2");
    await rename(`${bench.imagePath("v-p-1")}.aside`, bench.imagePath("v-p-1"));
    await bench.volume("v-p-1", "detached", (v) => v.status?.robustness !== "faulted");
  },
);

test("a truncated image is not attached", everyday(), async (t) => {
  const bench = await Bench.open(t);
  await bench.createVolume("v-p-1");
  await bench.volume("v-p-1", "detached");
  await truncate(bench.imagePath("v-p-1"), 32 * MIB);
  await bench.place("v-p-1", NODE);
  const faulted = await bench.volume("v-p-1", "detached", (v) => v.status?.robustness === "faulted");
  assert.match(faulted.status?.error?.message ?? "", /has 33554432 bytes, but had 67108864/);
  assert.equal(await bench.host.loops.find(bench.imagePath("v-p-1")), undefined);
});

test(
  "after a reboot an attached volume is opened again and its mounts are asked for",
  everyday(),
  async (t) => {
    const bench = await Bench.open(t);
    await bench.createVolume("v-p-1");
    await bench.volume("v-p-1", "detached");
    const device = await bench.attached("v-p-1");
    await bench.stop();
    // What a reboot leaves: the record, and no device.
    await bench.host.loops.detach(await attachmentAt(bench.host, device));
    await bench.start();
    const again = await bench.volume("v-p-1", "attached", (v) => v.status?.remountRequestedAt !== undefined);
    const found = await bench.host.loops.find(bench.imagePath("v-p-1"));
    assert.equal(found?.path, again.status?.device);
  },
);

test("an agent that is stopped while it starts closes everything", thorough(), async (t) => {
  const bench = await Bench.open(t);
  await bench.stop();
  for (const wait of [0, 5, 20, 40]) {
    const starting = bench.start();
    const outcome = starting.then(
      () => "started",
      () => "stopped",
    );
    await bench.host.clock.sleep(wait);
    await bench.stop();
    await outcome;
    await bench.stop();
  }
  await bench.start();
  await bench.createVolume("v-p-1");
  await bench.volume("v-p-1", "detached");
});

test("a restart leaves a volume in use alone", everyday(), async (t) => {
  const bench = await Bench.open(t);
  await bench.createVolume("v-p-1");
  await bench.volume("v-p-1", "detached");
  const device = await bench.attached("v-p-1");
  const user = await open(device, "r+");
  await bench.stop();
  await user.write("while nobody is home");
  await bench.start();
  const volume = await bench.volume("v-p-1", "attached");
  assert.equal(volume.status?.device, device);
  assert.equal(volume.status?.remountRequestedAt, undefined);
  await user.close();
});

test("devices of removed records are detached at start, those in use stay", everyday(), async (t) => {
  const bench = await Bench.open(t);
  for (const name of ["v-p-1", "v-p-2"]) {
    await bench.createVolume(name);
    await bench.volume(name, "detached");
  }
  const idle = await bench.attached("v-p-1");
  const used = await bench.attached("v-p-2");
  await makeFilesystem(bench.host.exec, { device: used, type: "ext4", formatted: undefined });
  const target = join(bench.dir, "m");
  await mkdir(target);
  await bench.host.mounts.mount({ source: used, target, fsType: "ext4" });
  await bench.stop();
  for (const name of ["v-p-1", "v-p-2"]) {
    const volume = await bench.store.get(Volumes, { name });
    await bench.store.update(Volumes, { ...volume, metadata: { ...volume.metadata, finalizers: [] } });
    await bench.store.delete(Volumes, { name });
    await assert.rejects(bench.store.get(Volumes, { name }), isNotFound);
  }
  await bench.start();
  const devices = (await bench.host.loops.list()).map((loop) => loop.path);
  assert.equal(
    devices.includes(idle) && (await bench.host.loops.find(bench.imagePath("v-p-1"))) !== undefined,
    false,
  );
  assert.equal((await bench.host.loops.find(bench.imagePath("v-p-2")))?.path, used);
  // Images are data: never removed without a record that asks for it.
  assert.ok((await stat(bench.imagePath("v-p-1"))).isFile());
  await bench.host.mounts.unmount(target);
});

test("a pool goes when it is empty, with everything it made", everyday(), async (t) => {
  const bench = await Bench.open(t);
  await bench.createVolume("v-p-1");
  await bench.volume("v-p-1", "detached");
  await bench.store.delete(Pools, { name: POOL });
  const kept = await until(bench.store, Pools, POOL, (p) =>
    /still has 1/.test(p.status?.conditions?.[0]?.message ?? ""),
  );
  assert.equal(kept.status?.ready, true);
  await bench.deleted(Volumes, "v-p-1");
  await bench.gone(Pools, POOL);
  assert.equal(existsSync(join(bench.stateDir, "pools", POOL)), false);
});

test("many volumes at once all come and go, and leave no file descriptor", thorough(), async (t) => {
  const bench = await Bench.open(t);
  const descriptors = (await readdir("/proc/self/fd")).length;
  const names = [...Array(30).keys()].map((n) => `v-p-${n}`);
  await Promise.all(names.map((name) => bench.createVolume(name)));
  await Promise.all(names.map((name) => bench.volume(name, "detached")));
  const devices = await Promise.all(names.map((name) => bench.attached(name)));
  assert.equal(new Set(devices).size, names.length);
  await Promise.all(names.map((name) => bench.detached(name)));
  await Promise.all(names.map((name) => bench.deleted(Volumes, name)));
  assert.ok((await readdir("/proc/self/fd")).length <= descriptors + 5);
});
