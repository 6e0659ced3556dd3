import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { cgroupName, openCgroups } from "../../packages/standalone/src/runtime/cgroups.ts";
import { openRunFolder } from "../../packages/standalone/src/runtime/run-folder.ts";
import { FOLDER_VARIABLE, leftBehind, loopIds, sweep } from "../../scripts/lib/tests/sweep.mjs";

const execute = promisify(execFile);

/** A pool in a mount namespace of its own, as a node of a test has, and a loop device of an image in it. */
const pool = (make: string, size: string): string => `
set -eu
cd "$0"
truncate --size=${size} pool.img
${make} -q pool.img >/dev/null
mount -o loop pool.img mnt
truncate --size=8M "mnt/$(basename "$0")"
losetup --find --show "mnt/$(basename "$0")"
sleep infinity
`;

/** Makes one in `folder`; the device of the image in it, and what ends the processes that it has. */
async function startPool(folder: string, make: string, size: string) {
  await mkdir(join(folder, "mnt"));
  const args = ["--mount", "--propagation=private", "sh", "-c", pool(make, size), folder];
  const child = spawn("unshare", args, {
    ...{ stdio: ["ignore", "pipe", "inherit"], detached: true },
    env: { ...process.env, [FOLDER_VARIABLE]: folder },
  });
  const device = String((await once(createInterface(child.stdout), "line"))[0]);
  assert.match(device, /^\/dev\/loop\d+$/);
  const end = async () => {
    process.kill(-(child.pid ?? 0), "SIGKILL");
    await once(child, "exit");
  };
  return { device, end };
}

async function loopDevices(): Promise<string> {
  return (await execute("losetup", ["--list", "--noheadings", "--output", "NAME,BACK-FILE"])).stdout;
}

test("what is swept of tests that were killed includes the devices of files in a pool that nobody sees any more", async () => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-swept-"));
  try {
    const { device, end } = await startPool(folder, "mkfs.ext4", "64M");
    await end();
    const left = await leftBehind(folder);
    assert.ok(
      left.some((line) => line.startsWith(`${device} of `)),
      `${device} is not among ${left.join(", ")}`,
    );
    await sweep(folder);
    assert.ok(!(await loopDevices()).includes(basename(folder)));
  } finally {
    await sweep(folder);
    await rm(folder, { recursive: true, force: true });
  }
});

test("what is swept of a run that a signal ends includes the devices of files in a btrfs pool, and those of no other", async () => {
  const [folder, other] = [await mkdtemp(join(tmpdir(), "swept-")), await mkdtemp(join(tmpdir(), "stays-"))];
  try {
    const mine = await startPool(folder, "mkfs.btrfs", "128M");
    const others = await startPool(other, "mkfs.btrfs", "128M");

    const loops = [...(await loopIds(folder))];
    await mine.end();
    await sweep(folder, loops);
    const left = await loopDevices();
    assert.ok(!left.includes(basename(folder)), left);
    assert.ok(left.includes(`${others.device} `), left);
    await sweep(other);
    assert.ok(!(await loopDevices()).includes(basename(other)));
  } finally {
    for (const each of [folder, other]) {
      await sweep(each);
      await rm(each, { recursive: true, force: true });
    }
  }
});

/** A `losetup` that waits for a process, as the real one does for the one that serves a device's file. */
const WAITING = `#!/bin/sh
while kill -0 "$SERVER" 2>/dev/null; do sleep 0.1; done
exec "$LOSETUP" "$@"
`;

const PATIENCE_MS = 120_000;

test("a sweep ends the process for which the list of loop devices waits, and takes away the devices then", async () => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-swept-"));
  const programs = await mkdtemp(join(tmpdir(), "programs-"));
  const undo: (() => unknown)[] = [];
  try {
    const server = spawn("sleep", ["infinity"], { env: { ...process.env, [FOLDER_VARIABLE]: folder } });
    const image = join(folder, "image");
    await execute("truncate", ["--size=8M", image]);
    await execute("losetup", ["--find", image]);
    await writeFile(join(programs, "losetup"), WAITING, { mode: 0o755 });
    const found = (await execute("sh", ["-c", "command -v losetup"])).stdout.trim();
    const program = fileURLToPath(new URL("../../scripts/lib/tests/sweep.mjs", import.meta.url));
    const PATH = `${programs}:${process.env["PATH"]}`;
    const sweeping = spawn(process.execPath, [program, folder], {
      ...{ stdio: ["pipe", "inherit", "inherit"] },
      env: { ...process.env, PATH, SERVER: String(server.pid), LOSETUP: found },
    });
    undo.push(() => sweeping.kill("SIGKILL"));
    sweeping.stdin?.end();
    const ended = await once(sweeping, "exit", { signal: AbortSignal.timeout(PATIENCE_MS) });
    assert.deepEqual(ended, [0, null]);
    assert.equal(server.signalCode, "SIGKILL");
    assert.ok(!(await loopDevices()).includes(basename(folder)));
  } finally {
    for (const each of undo) each();
    await sweep(folder);
    await rm(programs, { recursive: true });
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
