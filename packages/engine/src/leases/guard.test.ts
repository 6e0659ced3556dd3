import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { eventually } from "@mooring/store/testing";
import type { LoopDevice } from "../host/host.ts";
import { host, setUp, wasFrozen } from "../node/freezes/testing/frozen-mount.ts";
import { controlGroup } from "../node/group-snapshot/testing/use-volume.ts";
import { MIB, scratch, sparse } from "../testing/scratch.ts";
import { DeviceGuard } from "./guard.ts";

/** Longer than any step of a test takes, shorter than anybody's patience. */
const LATER_MS = 10_000;

async function guarded(t: TestContext): Promise<{ file: string; attach(name: string): Promise<LoopDevice> }> {
  const dir = await scratch(t, host);
  const attach = async (name: string) => host.loops.attach(await sparse(join(dir, name), MIB));
  return { file: join(dir, "lease-guard"), attach };
}

const isFenced = async ({ path }: LoopDevice): Promise<boolean> =>
  (await host.loops.at(path))?.fenced === true;

test("a new process that has taken back one device leaves the others to the guard", async (t) => {
  const { file, attach } = await guarded(t);
  const [one, two] = [await attach("one"), await attach("two")];
  const due = host.clock.sinceBoot() + LATER_MS;
  const before = await DeviceGuard.open(file, host.clock);
  await before.protect("v-p-1", one, due);
  await before.protect("v-q-2", two, due);

  const after = await DeviceGuard.open(file, host.clock);
  await after.protect("v-p-1", one, due + 3_600_000);
  await eventually("the device that nobody took back to be fenced", () => isFenced(two));
  assert.ok(host.clock.sinceBoot() >= due, "fenced before its time");
  assert.equal(await isFenced(one), false);
  await after.fence("v-p-1");
  assert.equal(await isFenced(one), true);
});

test("a new process extends and fences what an earlier one has protected", async (t) => {
  const { file, attach } = await guarded(t);
  const [one, two, three] = [await attach("one"), await attach("two"), await attach("three")];
  const due = host.clock.sinceBoot() + LATER_MS;
  const before = await DeviceGuard.open(file, host.clock);
  await before.protect("v-p-1", one, due);
  await before.protect("v-q-2", two, due);
  await before.protect("v-r-3", three, due);

  const after = await DeviceGuard.open(file, host.clock);
  await after.extend("v-p-1", due + 3_600_000);
  await after.fence("v-q-2");
  assert.equal(await isFenced(two), true);
  await eventually("the time of the others to be over", () => isFenced(three));
  assert.equal(await isFenced(one), false);
});

test("the watching does not end while a device of an earlier process is open", async (t) => {
  const { file, attach } = await guarded(t);
  const device = await attach("one");
  const before = await DeviceGuard.open(file, host.clock);
  await before.protect("v-p-1", device, host.clock.sinceBoot() + LATER_MS);
  await (await DeviceGuard.open(file, host.clock)).close();
  await eventually("the device to be fenced", () => isFenced(device));
});

test("a device that hangs does not keep others from being fenced", async (t) => {
  const { mount, state } = await setUp(t);
  const attach = async (file: string) => host.loops.attach(await sparse(file, MIB));
  const [hung, other] = [await attach(join(mount, "image")), await attach(`${state}-image`)];
  await host.exec.run("fsfreeze", ["--freeze", mount]);
  const write = spawn("dd", ["if=/dev/zero", `of=${hung.path}`, "bs=4096", "count=1", "oflag=direct"]);
  try {
    const inFlight = async () =>
      (await readFile(hung.path.replace("/dev", "/sys/block").concat("/inflight"), "utf8")).trim();
    await eventually("a write that does not end", async () => /^0\s+1$/.test(await inFlight()));
    const guard = await DeviceGuard.open(`${state}-lease-guard`, host.clock);
    await guard.protect("v-p-1", hung, host.clock.sinceBoot());
    await guard.protect("v-q-2", other, host.clock.sinceBoot());
    await eventually("the other device to be fenced", () => isFenced(other));
    assert.equal(await isFenced(hung), false);
  } finally {
    await wasFrozen(mount);
    if (write.exitCode === null) await once(write, "exit");
  }
  await eventually("the device that hung to be fenced", () => isFenced(hung));
});

/** Processes whose command line names the file. */
async function watching(file: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => ""));
  return (await Promise.all(lines)).flatMap((line, index) =>
    line.includes(file) ? [pids[index] ?? ""] : [],
  );
}

test("what ends every process of a container does not end the watching", async (t) => {
  const { file, attach } = await guarded(t);
  const device = await attach("one");
  const members = join(await controlGroup(t), "cgroup.procs");
  const own = process.pid.toString();
  const inGroup = async () => (await readFile(members, "utf8")).trim().split("\n");
  await writeFile(members, own);
  try {
    const guard = await DeviceGuard.open(file, host.clock);
    await guard.protect("v-p-1", device, host.clock.sinceBoot() + LATER_MS);
    const pids = await watching(file);
    assert.notDeepEqual(pids, []);
    assert.deepEqual(await inGroup(), [own]);
  } finally {
    await writeFile(join(members, "../../cgroup.procs"), own);
  }
  await eventually("the device to be fenced", () => isFenced(device));
});
