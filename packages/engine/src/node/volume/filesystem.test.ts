import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { ObjectStore } from "@mooring/store";
import type { Volume } from "../../api/volume.ts";
import { createHost } from "../../host/create-host.ts";
import { FILESYSTEM_TYPES, probe } from "../../host/filesystems.ts";
import { MIB, scratch, sparse } from "../../testing/scratch.ts";
import { intendFilesystem, prepareFilesystem } from "./filesystem.ts";

const host = createHost();
const signal = new AbortController().signal;

/** A store with one volume; `written` happens while a change of it goes to the disk. */
function storeOf(volume: Volume, written: () => Promise<void>): { store: ObjectStore; now(): Volume } {
  let current = volume;
  const update = async (_: unknown, next: Volume) => {
    await written();
    current = next;
    return next;
  };
  const store = { get: async () => current, update, updateStatus: update } as unknown as ObjectStore;
  return { store, now: () => current };
}

function volumeOf(fsType = "ext4"): Volume {
  return {
    apiVersion: "storage.mooring.dev/v1alpha1",
    kind: "Volume",
    metadata: { name: "v-1" },
    spec: { fsType },
    status: {},
  } as unknown as Volume;
}

async function write(device: string): Promise<void> {
  const handle = await open(device, "r+");
  await handle.write(randomBytes(4096), 0, 4096, 0);
  await handle.sync();
  await handle.close();
}

test("an image without a block gets its file system once the intention is written", async (t) => {
  const image = await sparse(join(await scratch(t, host), "i"), 64 * MIB);
  const device = (await host.loops.attach(image)).path;
  const { store, now } = storeOf(volumeOf(), async () =>
    assert.deepEqual(
      await probe(host.exec, device),
      { kind: "empty" },
      "nothing is made before the intention",
    ),
  );
  const prepared = await prepareFilesystem({ store, host }, { volume: volumeOf(), device }, signal);
  assert.equal(prepared.type, "ext4");
  assert.equal(now().metadata.annotations?.["storage.mooring.dev/formatting"], "ext4");
});

test("what is written once the device was found empty is not formatted over", async (t) => {
  const image = await sparse(join(await scratch(t, host), "i"), 64 * MIB);
  const device = (await host.loops.attach(image)).path;
  const { store, now } = storeOf(volumeOf(), async () => {});
  const found = await intendFilesystem({ store, host }, volumeOf(), device, signal);
  assert.deepEqual(found, { kind: "empty" });
  await write(device);
  const making = prepareFilesystem({ store, host }, { volume: volumeOf(), device, found }, signal);
  await assert.rejects(making, { code: "FAILED_PRECONDITION" });
  await refusedAgain({ store, now }, device);
});

test("what is written while the intention goes to the disk is no unfinished work of ours", async (t) => {
  const image = await sparse(join(await scratch(t, host), "i"), 64 * MIB);
  const device = (await host.loops.attach(image)).path;
  const { store, now } = storeOf(volumeOf(), () => write(device));
  const making = prepareFilesystem({ store, host }, { volume: volumeOf(), device }, signal);
  await assert.rejects(making, { code: "FAILED_PRECONDITION" });
  await refusedAgain({ store, now }, device);
});

test("what an mkfs of an earlier try still writes is unfinished work, and is made anew", async (t) => {
  const image = await sparse(join(await scratch(t, host), "i"), 64 * MIB);
  const device = (await host.loops.attach(image)).path;
  const volume = volumeOf();
  volume.metadata.annotations = { "storage.mooring.dev/formatting": "ext4" };
  const { store, now } = storeOf(volume, async () => {});
  const found = await intendFilesystem({ store, host }, volume, device, signal);
  await write(device);
  const making = prepareFilesystem({ store, host }, { volume, device, found }, signal);
  await assert.rejects(making, { code: "FAILED_PRECONDITION" });
  const prepared = await prepareFilesystem({ store, host }, { volume: now(), device }, signal);
  assert.equal(prepared.type, "ext4");
});

/** Less than an mkfs takes, and enough for its first blocks. */
const TOO_SMALL = { ext4: "128k", xfs: "1M", btrfs: "1M" } as const;

for (const type of FILESYSTEM_TYPES)
  test(`an mkfs of ${type} in a full pool is made anew, and can be mounted, when there is room`, async (t) => {
    const folder = join(await scratch(t, host), "full");
    await mkdir(folder);
    await host.exec.run("mount", ["-t", "tmpfs", "-o", `size=${TOO_SMALL[type]}`, "none", folder]);
    const device = (await host.loops.attach(await sparse(join(folder, "i"), 1024 * MIB))).path;
    const { store, now } = storeOf(volumeOf(type), async () => {});
    const make = () => prepareFilesystem({ store, host }, { volume: now(), device }, signal);
    for (let tries = 0; tries < 2; tries += 1) await assert.rejects(make(), /mkfs/);
    await host.exec.run("mount", ["-o", "remount,size=512M", folder]);
    assert.equal((await make()).type, type);
    const target = join(folder, "mounted");
    await mkdir(target);
    await host.exec.run("mount", ["-t", type, device, target]);
  });

/** The next try must not take what somebody wrote for a half-made file system, and discard it. */
async function refusedAgain({ store, now }: ReturnType<typeof storeOf>, device: string): Promise<void> {
  assert.equal(now().metadata.annotations?.["storage.mooring.dev/formatting"], undefined);
  const again = prepareFilesystem({ store, host }, { volume: now(), device }, signal);
  await assert.rejects(again, { code: "FAILED_PRECONDITION" });
  assert.equal((await probe(host.exec, device)).kind, "data");
}
