import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { promisify } from "node:util";
import { cgroupName, openCgroups } from "../../packages/standalone/src/runtime/cgroups.ts";
import { openRunFolder } from "../../packages/standalone/src/runtime/run-folder.ts";
import { leftBehind, sweep } from "../../scripts/lib/tests/sweep.mjs";

const execute = promisify(execFile);

/** A pool in a mount namespace of its own, as a node of a test has, and a loop device of an image in it. */
const POOL = `
set -eu
cd "$0"
truncate --size=64M pool.img
mkfs.ext4 -q pool.img
mount -o loop pool.img mnt
truncate --size=8M "mnt/$(basename "$0")"
losetup --find --show "mnt/$(basename "$0")"
sleep infinity
`;

test("what is swept of tests that were killed includes the devices of files in a pool that nobody sees any more", async () => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-swept-"));
  await mkdir(join(folder, "mnt"));
  try {
    const pool = spawn("unshare", ["--mount", "--propagation=private", "sh", "-c", POOL, folder], {
      stdio: ["ignore", "pipe", "inherit"],
      detached: true,
    });
    const device = String((await once(createInterface(pool.stdout), "line"))[0]);
    assert.match(device, /^\/dev\/loop\d+$/);
    process.kill(-(pool.pid ?? 0), "SIGKILL");
    await once(pool, "exit");
    const left = await leftBehind(folder);
    assert.ok(
      left.some((line) => line.startsWith(`${device} of `)),
      `${device} is not among ${left.join(", ")}`,
    );
    await sweep(folder);
    const { stdout } = await execute("losetup", ["--list", "--noheadings", "--output", "BACK-FILE"]);
    assert.ok(!stdout.includes(basename(folder)), stdout);
  } finally {
    await sweep(folder);
    await rm(folder, { recursive: true, force: true });
  }
});

test("what is swept of a Mooring that was killed includes its run folder and its control groups, and those of no other", async () => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-swept-"));
  const [swept, other] = [join(folder, "a"), `${folder}-other`];
  for (const state of [swept, other]) {
    const run = await openRunFolder(cgroupName(state), [state]);
    await mkdir(run.bundle("container"));
    await (await openCgroups(state)).create("pod", "container");
  }
  try {
    await sweep(folder);
    assert.deepEqual(await namesOutside(swept), []);
    assert.equal((await namesOutside(other)).length, 2);
  } finally {
    await sweep(other);
  }
  assert.deepEqual(await namesOutside(other), []);
});

/** What a state folder has on the machine: its run folder, and its control groups in one hierarchy. */
async function namesOutside(state: string): Promise<string[]> {
  const places = ["/run/mooring", "/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/freezer"];
  const names = await Promise.all(places.map((place) => readdir(place).catch(() => [])));
  return names.flat().filter((name) => name === cgroupName(state));
}
