import assert from "node:assert/strict";
import { mkdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { sample } from "@mooring/store/testing";
import { createHost } from "../host/create-host.ts";
import { FILESYSTEM_TYPES, FILESYSTEMS, makeFilesystem } from "../host/filesystems.ts";
import { GIB, MIB, scratch } from "../testing/scratch.ts";
import type { PoolBackend } from "./backend.ts";
import { poolContract } from "./contract.ts";
import { createPool } from "./create-pool.ts";
import { fileContract } from "./file-contract.ts";
import { poolLayout } from "./layout.ts";

const host = createHost();
poolContract({ type: "xfs", host });
fileContract("xfs", host);

async function pool(t: TestContext): Promise<{ dir: string; pool: PoolBackend }> {
  const dir = await scratch(t, host);
  const made = createPool("xfs", { host, path: join(dir, "pool"), size: 4 * GIB });
  t.after(() => made.close().catch(() => {}));
  await made.open();
  return { dir, pool: made };
}

for (const fsType of sample(FILESYSTEM_TYPES, { everyday: 1 })) {
  // The kernel gives the loop device of a file that was ever reflinked another sector size unless that is set.
  test(`xfs: ${fsType} mounts after its first snapshot, and so does its clone beside it`, async (t) => {
    const { dir, pool: p } = await pool(t);
    const image = await p.create("v-p-1", 400 * MIB);
    const target = join(dir, "m");
    const beside = join(dir, "c");
    await mkdir(target);
    await mkdir(beside);
    const options = FILESYSTEMS[fsType].mountOptions;
    const first = await host.loops.attach(image.path);
    await makeFilesystem(host.exec, { device: first.path, type: fsType, formatted: undefined });
    await host.mounts.mount({ source: first.path, target, fsType, options });
    await writeFile(join(target, "f"), "kept", { flush: true });
    await host.mounts.unmount(target);
    await host.loops.detach(first);

    const clone = await p.clone("v-p-1", "v-p-2", 400 * MIB);
    const origin = await host.loops.attach(image.path);
    const copy = await host.loops.attach(clone.path);
    assert.equal(origin.directIO && copy.directIO, true);
    await host.mounts.mount({ source: origin.path, target, fsType, options });
    await host.mounts.mount({ source: copy.path, target: beside, fsType, options });
    assert.equal(await readFile(join(beside, "f"), "utf8"), "kept");
    await writeFile(join(target, "f"), "changed", { flush: true });
    assert.equal(await readFile(join(beside, "f"), "utf8"), "kept");
    for (const path of [target, beside]) await host.mounts.unmount(path);
    for (const device of [origin, copy]) await host.loops.detach(device);
  });
}

test("xfs: a pool grows when it is opened with a larger size", async (t) => {
  const path = join(await scratch(t, host), "pool");
  const small = createPool("xfs", { host, path, size: GIB });
  await small.open();
  const before = await small.usage();
  await small.close();
  const large = createPool("xfs", { host, path, size: 2 * GIB });
  await large.open();
  const after = await large.usage();
  await large.close();
  assert.ok(after.totalBytes > 1.8 * before.totalBytes);
});

test("xfs: a pool that cannot be opened leaves no mount and no device", async (t) => {
  const path = join(await scratch(t, host), "pool");
  const made = createPool("xfs", { host, path, size: GIB });
  t.after(() => made.close().catch(() => {}));
  await made.open();
  const { images, backing } = poolLayout("xfs", path);
  await rm(images, { recursive: true });
  await writeFile(images, "");
  await made.close();
  await assert.rejects(made.open(), /images/);
  assert.deepEqual(await host.mounts.at(backing?.mount ?? ""), []);
  assert.equal(await host.loops.find(backing?.file ?? ""), undefined);
  await rm(backing?.mount ?? "", { recursive: true });
  await writeFile(backing?.mount ?? "", "");
  await assert.rejects(made.open(), /mnt is a regular file, not a folder/);
  assert.equal(await host.loops.find(backing?.file ?? ""), undefined);
});

for (const type of sample(["xfs", "btrfs"] as const, { everyday: 1 }))
  test(`${type}: a pool file that was truncated is not made longer, and one that has gone is not made anew`, async (t) => {
    const path = join(await scratch(t, host), "pool");
    const options = { host, path, size: GIB };
    const file = join(path, "pool.img");
    const first = createPool(type, options);
    t.after(() => first.close().catch(() => {}));
    await first.open();
    await first.create("v-p-1", 10 * MIB);
    await first.close();
    await truncate(file, GIB / 2);
    const opening = () => createPool(type, { ...options, size: 2 * GIB }).open();
    await assert.rejects(opening(), /pool\.img was truncated: it has 536870912 bytes, and had 1073741824/);
    assert.equal((await stat(file)).size, GIB / 2);
    // A pool from before there was a record: its file system has the size.
    await rm(join(path, "pool.json"));
    await assert.rejects(opening(), /pool\.img was truncated/);
    await writeFile(join(path, "pool.json"), `{"size":${GIB}}\n`);
    await rm(file);
    await assert.rejects(opening(), /pool\.img is missing, and had 1073741824 bytes/);
    await assert.rejects(stat(file), /ENOENT/);
  });

test("xfs: a pool that has shut itself down is mounted anew when it is opened", async (t) => {
  const path = join(await scratch(t, host), "pool");
  const first = createPool("xfs", { host, path, size: GIB });
  await first.open();
  const image = await first.create("v-p-1", MIB);
  await host.exec.run("xfs_io", ["-x", "-c", "shutdown", poolLayout("xfs", path).backing?.mount ?? ""]);
  await assert.rejects(first.list());
  // As a killed process leaves it: still mounted.
  await first.leave();
  const second = createPool("xfs", { host, path, size: GIB });
  await second.open();
  assert.deepEqual(await second.list(), [image]);
  await second.close();
});

test("xfs: a pool whose size is no whole number of sectors is made, and grows", async (t) => {
  const path = join(await scratch(t, host), "pool");
  for (const size of [1_000_000_000, 1_500_000_001]) {
    const one = createPool("xfs", { host, path, size });
    await one.open();
    const { totalBytes } = await one.usage();
    assert.ok(totalBytes > 0.9 * size, String(totalBytes));
    await one.enlarge(size + 100_000_001);
    await one.close();
  }
});
