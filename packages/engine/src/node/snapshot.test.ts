import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, open, readFile, rename, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { mutate } from "@mooring/store";
import { eventually, everyday, sample } from "@mooring/store/testing";
import type { PoolType } from "../api/pool.ts";
import { Snapshots } from "../api/snapshot.ts";
import { Volumes } from "../api/volume.ts";
import { makeFilesystem } from "../host/filesystems.ts";
import { Bench, until } from "../testing/agent.ts";
import { MIB } from "../testing/scratch.ts";

async function mountedVolume(bench: Bench, name: string): Promise<string> {
  await bench.createVolume(name);
  await bench.volume(name, "detached");
  const device = await bench.attached(name);
  await makeFilesystem(bench.host.exec, { device, type: "ext4", formatted: undefined });
  // As the driver's stage step does.
  await mutate(
    bench.store,
    Volumes,
    { name },
    {
      change: (volume) => {
        if (volume.status !== undefined) volume.status.formatted = "ext4";
      },
      subresource: "status",
    },
  );
  const target = join(bench.dir, `m-${name}`);
  await mkdir(target);
  await bench.host.mounts.mount({ source: device, target, fsType: "ext4" });
  return target;
}

async function unmountAndDelete(bench: Bench, name: string, target: string): Promise<void> {
  await bench.host.mounts.unmount(target);
  await bench.detached(name);
  await bench.deleted(Volumes, name);
}

const BLOCK_POOLS: readonly PoolType[] = ["xfs", "btrfs"];

for (const type of sample(BLOCK_POOLS, { everyday: 1 })) {
  test(`${type}: a snapshot of a mounted volume has what was written before it, synced or not`, async (t) => {
    const bench = await Bench.open(t, type);
    const target = await mountedVolume(bench, "v-p-1");
    await writeFile(join(target, "f"), "before");
    const asked = Date.now();
    await bench.createSnapshot("s-p-1", "v-p-1");
    const { status } = await bench.snapshot("s-p-1");
    await writeFile(join(target, "f"), "after!", { flush: true });
    assert.equal(status?.restoreSize, 64 * MIB);
    assert.equal(status?.formatted, "ext4");
    assert.ok(Math.abs(Date.parse(status?.creationTime ?? "") - asked) < 60_000);

    // Larger than the snapshot, and beside its origin.
    await bench.createVolume("v-p-2", { size: 128 * MIB, source: { kind: "Snapshot", name: "s-p-1" } });
    const copy = await bench.volume("v-p-2", "detached");
    assert.equal(copy.status?.formatted, "ext4");
    assert.equal(copy.status?.size, 128 * MIB);
    const device = await bench.attached("v-p-2");
    assert.equal(await makeFilesystem(bench.host.exec, { device, type: "ext4", formatted: "ext4" }), "ext4");
    const beside = join(bench.dir, "beside");
    await mkdir(beside);
    await bench.host.mounts.mount({ source: device, target: beside, fsType: "ext4" });
    assert.equal(await readFile(join(beside, "f"), "utf8"), "before");
    assert.equal(await readFile(join(target, "f"), "utf8"), "after!");
    await unmountAndDelete(bench, "v-p-2", beside);
    await unmountAndDelete(bench, "v-p-1", target);
    await bench.deleted(Snapshots, "s-p-1");
    assert.equal(existsSync(bench.imagePath("s-p-1")), false);
  });

  test(`${type}: a clone of a volume under writes is one point in time`, async (t) => {
    const bench = await Bench.open(t, type);
    const target = await mountedVolume(bench, "v-p-1");
    // Two files that always move together, second after first.
    const script = 'i=0; while :; do i=$((i+1)); echo $i > "$1/a"; echo $i > "$1/b"; done';
    const writer = spawn("sh", ["-c", script, "sh", target], { stdio: "ignore" });
    t.after(() => writer.kill("SIGKILL"));
    for (const n of [2, 3, 4]) {
      const name = `v-p-${n}`;
      await bench.createVolume(name, { source: { kind: "Volume", name: "v-p-1" } });
      await bench.volume(name, "detached");
      const device = await bench.attached(name);
      const beside = join(bench.dir, name);
      await mkdir(beside);
      await bench.host.mounts.mount({ source: device, target: beside, fsType: "ext4" });
      const [a, b] = await Promise.all(
        ["a", "b"].map((f) => readFile(join(beside, f), "utf8").catch(() => "")),
      );
      // A write in progress may have emptied one of the two; never is the second ahead of the first.
      if (a !== "" && b !== "" && a !== undefined)
        assert.ok([0, 1].includes(Number(a) - Number(b)), `${a} ${b}`);
      await unmountAndDelete(bench, name, beside);
    }
    writer.kill("SIGKILL");
    await new Promise((resolve) => writer.once("exit", resolve));
    await unmountAndDelete(bench, "v-p-1", target);
  });
}

test("a snapshot waits until its volume is attached, and outlives it", everyday(), async (t) => {
  const bench = await Bench.open(t);
  await bench.createVolume("v-p-1");
  await bench.volume("v-p-1", "detached");
  const image = await open(bench.imagePath("v-p-1"), "r+");
  await image.write("payload", 4096);
  await image.close();
  await bench.createSnapshot("s-p-1", "v-p-1");
  const waiting = await bench.snapshot("s-p-1", (s) => s.metadata.finalizers?.length === 1);
  assert.equal(waiting.status?.creationTime, undefined);
  await bench.attached("v-p-1");
  const made = await bench.snapshot("s-p-1");
  await bench.detached("v-p-1");
  await bench.deleted(Volumes, "v-p-1");
  const [kept, snapshot] = [await readFile(bench.imagePath("s-p-1")), await bench.snapshot("s-p-1")];
  assert.equal(kept.subarray(4096, 4103).toString(), "payload");
  assert.equal(snapshot.status?.creationTime, made.status?.creationTime);
});

test("a mount that is covered by another is not frozen in its place", everyday(), async (t) => {
  const bench = await Bench.open(t);
  const target = await mountedVolume(bench, "v-p-1");
  await writeFile(join(target, "f"), "kept", { flush: true });
  await bench.host.exec.run("mount", ["-t", "tmpfs", "cover", target]);
  await bench.createSnapshot("s-p-1", "v-p-1");
  await bench.snapshot("s-p-1");
  // Whoever reads which file systems a machine has, as the agent does, has one open for a moment.
  await eventually("the cover to be taken away", () =>
    bench.host.exec.run("umount", [target]).then(
      () => true,
      () => undefined,
    ),
  );
  await unmountAndDelete(bench, "v-p-1", target);
});

test("a raw device in use is copied with everything that was written to it", everyday(), async (t) => {
  const bench = await Bench.open(t);
  await bench.createVolume("v-p-1", { volumeMode: "Block" });
  await bench.volume("v-p-1", "detached");
  const device = await bench.attached("v-p-1");
  const user = await open(device, "r+");
  await user.write("not synced", 8192);
  await bench.createSnapshot("s-p-1", "v-p-1");
  await bench.snapshot("s-p-1");
  await user.close();
  const bytes = await readFile(bench.imagePath("s-p-1"));
  assert.equal(bytes.subarray(8192, 8202).toString(), "not synced");
});

test(
  "a snapshot that was requested before its volume is made once the volume is there",
  everyday(),
  async (t) => {
    const bench = await Bench.open(t);
    await bench.createSnapshot("s-p-1", "v-p-1");
    await bench.snapshot("s-p-1", (s) => s.status?.error?.code === "NOT_FOUND");
    await bench.createVolume("v-p-1");
    await bench.volume("v-p-1", "detached");
    await bench.attached("v-p-1");
    const made = await bench.snapshot("s-p-1");
    assert.deepEqual([made.status?.error, made.status?.failures], [undefined, undefined]);
  },
);

test("a volume from a snapshot that is not there says so and waits for it", everyday(), async (t) => {
  const bench = await Bench.open(t);
  await bench.createVolume("v-p-1");
  await bench.createVolume("v-p-2", { source: { kind: "Snapshot", name: "s-p-1" } });
  await bench.volume("v-p-2", "creating", (v) => v.status?.error?.code === "NOT_FOUND");
  await bench.volume("v-p-1", "detached");
  await bench.attached("v-p-1");
  await bench.createSnapshot("s-p-1", "v-p-1");
  await bench.volume("v-p-2", "detached");
});

test(
  "a copy smaller than its source, or from another pool, is refused with the reason",
  everyday(),
  async (t) => {
    const bench = await Bench.open(t);
    await bench.createVolume("v-p-1");
    await bench.volume("v-p-1", "detached");
    await bench.attached("v-p-1");
    await bench.createVolume("v-p-2", { size: 32 * MIB, source: { kind: "Volume", name: "v-p-1" } });
    await bench.volume("v-p-2", "creating", (v) => v.status?.error?.code === "OUT_OF_RANGE");
    await bench.deleted(Volumes, "v-p-2");
  },
);

test(
  "a lost snapshot image is reported; its volume is not copied again under the old time",
  everyday(),
  async (t) => {
    const bench = await Bench.open(t);
    await bench.createVolume("v-p-1");
    await bench.volume("v-p-1", "detached");
    await bench.attached("v-p-1");
    await bench.createSnapshot("s-p-1", "v-p-1");
    await bench.snapshot("s-p-1");
    await rename(bench.imagePath("s-p-1"), `${bench.imagePath("s-p-1")}.aside`);
    const lost = await bench.snapshot("s-p-1", (s) => s.status?.error?.code === "DATA_LOSS");
    assert.equal(lost.status?.readyToUse, false);
    assert.equal(existsSync(bench.imagePath("s-p-1")), false);
    await bench.deleted(Snapshots, "s-p-1");
  },
);

for (const type of BLOCK_POOLS)
  test(
    `${type}: a snapshot whose image was truncated is reported, and nothing is made of it`,
    everyday(),
    async (t) => {
      const bench = await Bench.open(t, type);
      await bench.createVolume("v-p-1");
      await bench.volume("v-p-1", "detached");
      await bench.attached("v-p-1");
      await bench.createSnapshot("s-p-1", "v-p-1");
      await bench.snapshot("s-p-1");
      await truncate(bench.imagePath("s-p-1"), MIB);
      const truncated = await bench.snapshot("s-p-1", (s) => s.status?.error?.code === "DATA_LOSS");
      assert.equal(truncated.status?.readyToUse, false);
      assert.match(
        truncated.status?.error?.message ?? "",
        /the image of snapshot s-p-1 has 1048576 bytes, but had 67108864/,
      );
      await bench.createVolume("v-p-2", { source: { kind: "Snapshot", name: "s-p-1" } });
      await bench.volume("v-p-2", "creating", (v) => v.status?.error?.code === "DATA_LOSS");
      await bench.deleted(Volumes, "v-p-2");
      await bench.deleted(Snapshots, "s-p-1");
    },
  );

test(
  "a folder in use is not copied half old, half new: the snapshot says what to do, and is made later",
  everyday(),
  async (t) => {
    const bench = await Bench.open(t, "directory");
    await bench.createVolume("v-p-1");
    await bench.volume("v-p-1", "detached");
    const source = await bench.attached("v-p-1");
    const target = join(bench.dir, "m");
    await mkdir(target);
    await bench.host.mounts.bind(source, target, { readOnly: false });
    await writeFile(join(target, "f"), "kept");
    await bench.createSnapshot("s-p-1", "v-p-1");
    const refused = await bench.snapshot("s-p-1", (s) => s.status?.error !== undefined);
    assert.equal(refused.status?.error?.code, "FAILED_PRECONDITION");
    assert.match(refused.status?.error?.message ?? "", /xfs or btrfs pool/);
    await bench.host.mounts.unmount(target);
    await until(bench.store, Snapshots, "s-p-1", (s) => s.status?.readyToUse === true);
    assert.equal(await readFile(join(bench.imagePath("s-p-1"), "data", "f"), "utf8"), "kept");
  },
);
