import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { promisify } from "node:util";
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
