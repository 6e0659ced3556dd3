import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, open, rm, truncate } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "@mooring/store/testing";
import { EngineError } from "../errors.ts";
import { apart } from "../testing/apart.ts";
import { attachmentAt } from "../testing/attachment-at.ts";
import { MIB, scratch, sparse } from "../testing/scratch.ts";
import { createHost } from "./create-host.ts";
import { majorMinor } from "./device-numbers.ts";
import { makeFilesystem } from "./filesystems.ts";
import { readLoop } from "./sysfs-loops.ts";

const host = createHost();
const { loops } = host;
const codeOf = (error: unknown): unknown => (error instanceof EngineError ? error.code : error);

test("one file gets one device, with direct I/O and 4 KiB sectors, however many ask", async (t) => {
  const dir = await scratch(t, host);
  const file = await sparse(join(dir, "i"), 64 * MIB);
  const devices = await Promise.all([1, 2, 3, 4, 5].map(() => loops.attach(file)));
  assert.equal(new Set(devices.map((d) => d.path)).size, 1);
  const [device] = devices;
  assert.ok(device);
  assert.equal(device.directIO, true);
  assert.equal(device.sizeBytes, 64 * MIB);
  assert.equal((await readLoop(device.path.slice(5)))?.sectorSize, 4096);
  assert.equal((await loops.find(file))?.path, device.path);
  await loops.detach(device);
  await loops.detach(device);
  assert.equal(await loops.find(file), undefined);
});

test("many attaches at once all find a free device", async (t) => {
  const dir = await scratch(t, host);
  const files = await Promise.all([...Array(12).keys()].map((n) => sparse(join(dir, `i${n}`), MIB)));
  const devices = await Promise.all(files.map((file) => loops.attach(file)));
  assert.equal(new Set(devices.map((d) => d.path)).size, files.length);
});

test("a device whose file system has failed is found although the kernel finds it empty", async (t) => {
  const dir = await scratch(t, host);
  const below = await loops.attach(await sparse(join(dir, "disk"), 512 * MIB));
  await makeFilesystem(host.exec, { device: below.path, type: "xfs", formatted: undefined });
  const mounted = join(dir, "m");
  await mkdir(mounted);
  await host.mounts.mount({ source: below.path, target: mounted, fsType: "xfs" });
  const file = await sparse(join(mounted, "i"), MIB);
  const device = await loops.attach(file);
  await host.exec.run("xfs_io", ["-x", "-c", "shutdown", mounted]);
  await loops.refresh(device.path);
  assert.equal((await readLoop(device.path.slice(5)))?.sizeBytes, 0);
  assert.deepEqual(
    (await loops.list(mounted)).map(({ path }) => path),
    [device.path],
  );
  assert.equal((await loops.find(file))?.path, device.path);
  await assert.rejects(loops.attach(file), (error) => codeOf(error) === "UNAVAILABLE");
  await loops.detach(device);
  assert.deepEqual(await loops.list(mounted), []);
});

test("detach refuses a mounted device and leaves it whole", async (t) => {
  const dir = await scratch(t, host);
  const device = await loops.attach(await sparse(join(dir, "i"), 64 * MIB));
  await makeFilesystem(host.exec, { device: device.path, type: "ext4", formatted: undefined });
  const target = join(dir, "m");
  await mkdir(target);
  await host.mounts.mount({ source: device.path, target, fsType: "ext4" });
  const error = await loops.detach(device).catch((e: unknown) => e);
  assert.equal(codeOf(error), "FAILED_PRECONDITION");
  assert.match(String(error), new RegExp(`mounted at ${target}`));
  assert.equal((await readLoop(device.path.slice(5)))?.autoclear, false);
  await host.mounts.unmount(target);
  await loops.detach(device);
});

test("who has a device of before does nothing to the next file that got its number", async (t) => {
  const dir = await scratch(t, host);
  const [first, next] = [await sparse(join(dir, "a"), MIB), await sparse(join(dir, "b"), MIB)];
  let device = await loops.attach(first);
  // Other processes of this machine look for free numbers as well.
  await eventually("the next file to get the same number", async () => {
    await loops.detach(device);
    const { exitCode } = await host.exec.try("losetup", ["--sector-size", "4096", device.path, next]);
    if (exitCode !== 0) device = await loops.attach(first);
    return exitCode === 0;
  });
  await loops.detach(device);
  await loops.detach(device, { lastUser: true });
  await loops.fence(device);
  const error = await loops.restore(device).catch((e: unknown) => e);
  assert.equal(codeOf(error), "UNAVAILABLE");
  const { path, sizeBytes, autoclear, fenced } = await attachmentAt(host, device.path);
  assert.equal(await loops.find(first, { recent: true }), undefined);
  assert.equal((await loops.find(next))?.path, path);
  assert.deepEqual([sizeBytes, autoclear, fenced], [MIB, false, false]);
  await loops.detach(await attachmentAt(host, device.path));
});

test("a device that a container has left behind is found by its file, whatever the kernel shows", async (t) => {
  const dir = await scratch(t, host);
  const [own, mounted] = [join(dir, "own"), join(dir, "mounted")];
  for (const folder of [own, mounted]) await mkdir(folder);
  const file = await sparse(join(own, "i"), 16 * MIB);
  // Its mount namespace ends with it, and with that the path that the kernel could show.
  const attach = `mount --bind "$1" "$2" && losetup --find --show --direct-io=on --sector-size 4096 "$2/i"`;
  const unshare = ["--mount", "--propagation", "private", "sh", "-c", attach, "sh", own, mounted];
  const left = (await host.exec.run("unshare", unshare)).stdout.trim();
  // Once it is detached its number may be somebody else's.
  let isOurs = true;
  t.after(async () => isOurs && (await host.exec.try("losetup", ["--detach", left])));
  assert.equal((await readLoop(left.slice(5)))?.backingFile, "/i");
  const found = await loops.find(file);
  assert.deepEqual([found?.path, found?.backingFile], [left, file]);
  assert.equal((await loops.attach(file)).path, left);
  // Another file with such a name is not meant.
  assert.equal(await loops.find(await sparse(join(mounted, "i"), 16 * MIB)), undefined);
  await loops.detach(await attachmentAt(host, left));
  isOurs = false;
  assert.equal(await loops.find(file), undefined);
});

test("detach sees a mount in another mount namespace", async (t) => {
  const dir = await scratch(t, host);
  const device = await loops.attach(await sparse(join(dir, "i"), 64 * MIB));
  await makeFilesystem(host.exec, { device: device.path, type: "ext4", formatted: undefined });
  await mkdir(join(dir, "m"));
  const abort = new AbortController();
  const script = 'mount -t ext4 "$1" "$2" && touch "$3" && sleep 600';
  const args = apart(dir, "sh", "-c", script, "sh", device.path, join(dir, "m"), join(dir, "up"));
  let ended: unknown;
  const other = host.exec
    .try("unshare", args, { signal: abort.signal })
    .catch((error: unknown) => error)
    .then((result) => {
      ended = result;
    });
  // Whoever reads the users claims the device for a moment, in which nobody can mount it: not before it is mounted.
  await eventually("the other namespace to have its mount", async () => {
    assert.equal(ended, undefined);
    return existsSync(join(dir, "up"));
  });
  assert.notDeepEqual(await loops.users(device.path), []);
  assert.deepEqual((await host.mounts.at(join(dir, "m"))).length, 0);
  assert.equal(codeOf(await loops.detach(device).catch((e: unknown) => e)), "FAILED_PRECONDITION");
  abort.abort();
  await other;
  await eventually("its users to end", async () => (await loops.users(device.path)).length === 0);
  await loops.detach(device);
});

test("a device on its way out is taken back by the next attach", async (t) => {
  const dir = await scratch(t, host);
  const file = await sparse(join(dir, "i"), MIB);
  const device = await loops.attach(file);
  const user = await open(device.path);
  await host.exec.run("losetup", ["-d", device.path]);
  const again = await loops.attach(file);
  await user.close();
  assert.equal((await loops.find(file))?.path, again.path);
});

test("an open device is reported as in use when it does not go away", async (t) => {
  const dir = await scratch(t, host);
  const file = await sparse(join(dir, "i"), MIB);
  const device = await loops.attach(file);
  const user = await open(device.path);
  const error = await loops.detach(device).catch((e: unknown) => e);
  await user.close();
  assert.equal(codeOf(error), "FAILED_PRECONDITION");
  await eventually("it to go", async () => (await loops.find(file)) === undefined);
});

test("a read-only mark is taken off a device before somebody else gets it", async (t) => {
  const dir = await scratch(t, host);
  const file = await sparse(join(dir, "i"), MIB);
  const device = await loops.attach(file);
  await host.exec.run("blockdev", ["--setro", device.path]);
  // As its stage step left it: handed out again as it is.
  assert.equal((await loops.attach(file)).readOnly, true);
  await loops.detach(device);
  // Detached behind our back, the mark stays; the next attach of the number takes it off.
  const other = await loops.attach(await sparse(join(dir, "j"), MIB));
  assert.equal(other.readOnly, false);
  const files = await Promise.all([1, 2, 3].map((n) => sparse(join(dir, `k${n}`), MIB)));
  await host.exec.run("blockdev", ["--setro", other.path]);
  try {
    await host.exec.run("losetup", ["--detach", other.path]);
    const again = await Promise.all(files.map((file) => loops.attach(file)));
    assert.deepEqual(
      again.map((d) => d.readOnly),
      [false, false, false],
    );
  } finally {
    // Whoever else has the number by now, or gets it next, is to write.
    await host.exec.run("blockdev", ["--setrw", other.path]);
  }
});

test("a device in use elsewhere can be left to go with its last user", async (t) => {
  const dir = await scratch(t, host);
  const file = await sparse(join(dir, "i"), MIB);
  const device = await loops.attach(file);
  const user = await open(device.path);
  await loops.detach(device, { lastUser: true });
  assert.equal((await loops.find(file))?.path, device.path);
  await user.close();
  await eventually("it to go", async () => (await loops.find(file)) === undefined);
});

test("a new size is taken up while attached", async (t) => {
  const dir = await scratch(t, host);
  const file = await sparse(join(dir, "i"), MIB);
  const device = await loops.attach(file);
  await truncate(file, 3 * MIB);
  await loops.refresh(device.path);
  assert.equal((await loops.find(file))?.sizeBytes, 3 * MIB);
});

test("a device of a removed file is never taken for its successor's", async (t) => {
  const dir = await scratch(t, host);
  const file = await sparse(join(dir, "i"), MIB);
  const device = await loops.attach(file);
  await rm(file);
  assert.equal((await loops.find(file))?.path, device.path);
  await sparse(file, MIB);
  const error = await loops.attach(file).catch((e: unknown) => e);
  assert.equal(codeOf(error), "FAILED_PRECONDITION");
  await loops.detach(device);
  assert.ok(await loops.attach(file));
});

test("absent, empty and truncated images are refused with a reason", async (t) => {
  const dir = await scratch(t, host);
  assert.equal(codeOf(await loops.attach(join(dir, "none")).catch((e: unknown) => e)), "NOT_FOUND");
  const empty = await sparse(join(dir, "empty"), 0);
  assert.equal(codeOf(await loops.attach(empty).catch((e: unknown) => e)), "DATA_LOSS");
  const truncated = await sparse(join(dir, "truncated"), 4097);
  assert.equal(codeOf(await loops.attach(truncated).catch((e: unknown) => e)), "DATA_LOSS");
  assert.equal(codeOf(await loops.attach(dir).catch((e: unknown) => e)), "FAILED_PRECONDITION");
});

test("device numbers are split as the C library does", () => {
  assert.equal(majorMinor(65024), "254:0");
  assert.equal(majorMinor(0x12), "0:18");
});
