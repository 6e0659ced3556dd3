import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdir, open, readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { everyday, sample } from "@mooring/store/testing";
import { EngineError } from "../errors.ts";
import { GIB, MIB, scratch, sparse } from "../testing/scratch.ts";
import { createHost } from "./create-host.ts";
import { distinguishesBtrfsCopies, requireDistinct } from "./filesystem/btrfs-copies.ts";
import {
  checkFilesystem,
  FILESYSTEM_TYPES,
  FILESYSTEMS,
  filesystemUsage,
  freeze,
  growMounted,
  growUnmounted,
  makeFilesystem,
  probe,
} from "./filesystems.ts";

const host = createHost();
const { exec } = host;
const codeOf = (error: unknown): unknown => (error instanceof EngineError ? error.code : error);

async function fill(path: string, position: number, bytes: Uint8Array): Promise<void> {
  const handle = await open(path, "r+");
  await handle.write(bytes, 0, bytes.length, position);
  await handle.sync();
  await handle.close();
}

for (const type of sample(FILESYSTEM_TYPES, { everyday: 1 })) {
  test(`${type}: made once, mounted, grown`, async (t) => {
    const dir = await scratch(t, host);
    const image = await sparse(join(dir, "i"), 512 * MIB);
    const device = (await host.loops.attach(image)).path;
    assert.deepEqual(await probe(exec, device), { kind: "empty" });
    assert.equal(await makeFilesystem(exec, { device, type, formatted: undefined }), type);
    const found = await probe(exec, device);
    assert.equal(found.kind === "filesystem" && found.type, type);

    const target = join(dir, "m");
    await mkdir(target);
    const request = { source: device, target, fsType: type, options: FILESYSTEMS[type].mountOptions };
    await host.mounts.mount(request);
    await host.mounts.mount(request);
    assert.equal((await host.mounts.at(target)).length, 1);
    await writeFile(join(target, "f"), "kept");
    const before = await filesystemUsage(target);
    assert.ok(before.totalBytes > 300n * 1024n ** 2n && before.availableBytes <= before.totalBytes);

    await host.mounts.unmount(target);
    await truncate(image, GIB);
    await host.loops.refresh(device);
    assert.equal(await growUnmounted(exec, device, type), type === "ext4");
    await host.mounts.mount(request);
    await growMounted(exec, { device, mountPath: target, type });
    const after = await filesystemUsage(target);
    assert.ok(after.totalBytes > 800n * 1024n ** 2n, `${after.totalBytes}`);
    assert.equal(await readFile(join(target, "f"), "utf8"), "kept");
  });
}

test(
  "a finished mkfs that nobody recorded is adopted, a recorded one never repeated",
  everyday(),
  async (t) => {
    const dir = await scratch(t, host);
    const device = (await host.loops.attach(await sparse(join(dir, "i"), 64 * MIB))).path;
    await makeFilesystem(exec, { device, type: "ext4", formatted: undefined });
    const first = await probe(exec, device);
    await makeFilesystem(exec, { device, type: "ext4", formatted: undefined });
    await makeFilesystem(exec, { device, type: "ext4", formatted: "ext4" });
    assert.deepEqual(await probe(exec, device), first);

    // blkid finds nothing on a trashed superblock: the moment in which other drivers format somebody's data.
    await fill(device, 0, Buffer.alloc(2 * MIB));
    const error = await makeFilesystem(exec, { device, type: "ext4", formatted: "ext4" }).catch(
      (e: unknown) => e,
    );
    assert.equal(codeOf(error), "DATA_LOSS");
  },
);

test("anything unknown on the device stops mkfs", everyday(), async (t) => {
  const dir = await scratch(t, host);
  const image = await sparse(join(dir, "i"), 64 * MIB);
  await fill(image, 64 * MIB - 10, Buffer.from("precious"));
  const error = await makeFilesystem(exec, { device: image, type: "ext4", formatted: undefined }).catch(
    (e: unknown) => e,
  );
  assert.equal(codeOf(error), "FAILED_PRECONDITION");
  assert.match(String(error), /unknown format/);
});

test("another file system on the device stops mkfs", everyday(), async (t) => {
  const dir = await scratch(t, host);
  const image = await sparse(join(dir, "i"), 64 * MIB);
  await makeFilesystem(exec, { device: image, type: "ext4", formatted: undefined });
  const error = await makeFilesystem(exec, { device: image, type: "btrfs", formatted: undefined }).catch(
    (e: unknown) => e,
  );
  assert.equal(codeOf(error), "FAILED_PRECONDITION");
});

test("too small a volume says how much is needed", everyday(), async (t) => {
  const dir = await scratch(t, host);
  const image = await sparse(join(dir, "i"), 100 * MIB);
  const error = await makeFilesystem(exec, { device: image, type: "xfs", formatted: undefined }).catch(
    (e: unknown) => e,
  );
  assert.equal(codeOf(error), "OUT_OF_RANGE");
});

test("a check repairs only what is safe and reports the rest", everyday(), async (t) => {
  const dir = await scratch(t, host);
  const image = await sparse(join(dir, "i"), 64 * MIB);
  await makeFilesystem(exec, { device: image, type: "ext4", formatted: undefined });
  assert.deepEqual(await checkFilesystem(exec, image, "ext4", "preen"), { repaired: false });
  await fill(image, 1024, Buffer.alloc(1024));
  assert.deepEqual(await checkFilesystem(exec, image, "ext4", "never"), { repaired: false });
  const error = await checkFilesystem(exec, image, "ext4", "preen").catch((e: unknown) => e);
  assert.equal(codeOf(error), "DATA_LOSS");
});

test(
  "a btrfs copy is not mounted beside its origin by a kernel that would mix them up",
  everyday(),
  async (t) => {
    const dir = await scratch(t, host);
    const image = await sparse(join(dir, "i"), 256 * MIB);
    const device = (await host.loops.attach(image)).path;
    await makeFilesystem(exec, { device, type: "btrfs", formatted: undefined });
    await copyFile(image, join(dir, "copy"));
    const copy = (await host.loops.attach(join(dir, "copy"))).path;
    await requireDistinct(exec, copy, "6.1.0-37-amd64");
    await mkdir(join(dir, "m"));
    await host.mounts.mount({ source: device, target: join(dir, "m"), fsType: "btrfs" });
    const error = await requireDistinct(exec, copy, "6.1.0-37-amd64").catch((e: unknown) => e);
    assert.equal(codeOf(error), "FAILED_PRECONDITION");
    await requireDistinct(exec, copy, "6.7.0");
    for (const [kernel, safe] of Object.entries({
      "5.15.0": false,
      "6.6.99": false,
      "6.12.1": true,
      "7.0.0-rc1": true,
    })) {
      assert.equal(distinguishesBtrfsCopies(kernel), safe);
    }
  },
);

async function mounted(t: Parameters<typeof scratch>[0]): Promise<string> {
  const dir = await scratch(t, host);
  const device = (await host.loops.attach(await sparse(join(dir, "i"), 64 * MIB))).path;
  await makeFilesystem(exec, { device, type: "ext4", formatted: undefined });
  const target = join(dir, "m");
  await mkdir(target);
  await host.mounts.mount({ source: device, target, fsType: "ext4" });
  return target;
}

/** A write that ends only when the file system takes writes. */
function writer(target: string): ChildProcess {
  return spawn("sh", ["-c", `echo x > ${target}/w`], { stdio: "ignore" });
}

test("a frozen file system takes no writes until it is thawed", everyday(), async (t) => {
  const target = await mounted(t);
  const frozen = await freeze(target, 30);
  const write = writer(target);
  const ended = once(write, "exit");
  await host.clock.sleep(100);
  assert.equal(write.exitCode, null);
  assert.equal(await frozen.thaw(), true);
  assert.equal((await ended)[0], 0);
});

test(
  "the watchdog thaws when the time is over, and reports that the cover was not whole",
  everyday(),
  async (t) => {
    const target = await mounted(t);
    const frozen = await freeze(target, 1);
    assert.equal((await once(writer(target), "exit"))[0], 0);
    assert.equal(await frozen.thaw(), false);
  },
);

test("kill -9 of the process that froze thaws", everyday(), async (t) => {
  const target = await mounted(t);
  const module = new URL("./filesystems.ts", import.meta.url).href;
  const code = `import { freeze } from "${module}"; await freeze("${target}", 60); console.log("frozen"); setInterval(() => {}, 1000);`;
  const child = spawn(
    process.execPath,
    ["--conditions=mooring-source", "--import", "tsx", "--input-type=module", "-e", code],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  await once(child.stdout, "data");
  child.kill("SIGKILL");
  assert.equal((await once(writer(target), "exit"))[0], 0);
});

test("a path that is not mounted cannot be frozen, and says so", everyday(), async (t) => {
  const dir = await scratch(t, host);
  await assert.rejects(freeze(join(dir, "none"), 5), /cannot freeze/);
});
