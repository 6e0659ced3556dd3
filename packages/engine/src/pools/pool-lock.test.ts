import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { createHost } from "../host/create-host.ts";
import type { Host } from "../host/host.ts";
import { scratch } from "../testing/scratch.ts";
import { acquirePoolLock } from "./pool-lock.ts";

const host = createHost();

test("a command that a killed process left behind keeps the lock until it has ended", async (t) => {
  const dir = await scratch(t, host);
  const [path, ended] = [join(dir, "lock"), join(dir, "ended")];
  let file = -1;
  const spying: Host = {
    ...host,
    inherit: (fd) => {
      file = fd;
      return async () => {};
    },
  };
  const first = await acquirePoolLock(path, spying);
  // It says so itself: we hear of its end after the kernel has freed the lock.
  const command = ["-c", 'sleep 0.7; : >"$0"', ended];
  const leftBehind = host.exec.run("sh", command, { inherit: [file] });
  await first.release();
  // The number of a process that is gone.
  await writeFile(path, "4194304\n");
  const second = await acquirePoolLock(path, host);
  assert.equal(existsSync(ended), true);
  await second.release();
  await leftBehind;
});

test("a living owner is named at once", async (t) => {
  const path = join(await scratch(t, host), "lock");
  const first = await acquirePoolLock(path, host);
  await assert.rejects(acquirePoolLock(path, host), new RegExp(`another process \\(${process.pid}\\)`));
  await first.release();
  await (await acquirePoolLock(path, host)).release();
});

test("without flock the error names the package to install", async (t) => {
  const path = join(await scratch(t, host), "lock");
  const { PATH } = process.env;
  process.env.PATH = "/nowhere";
  try {
    await assert.rejects(acquirePoolLock(path, host), {
      message: "flock is not installed on this machine",
      hint: "install it: apt-get install util-linux",
    });
  } finally {
    process.env.PATH = PATH;
  }
});

test("mount and loop commands inherit the lock's file, other programs do not", async (t) => {
  const dir = await scratch(t, host);
  const own = createHost();
  const lock = await acquirePoolLock(join(dir, "lock"), own);
  const { stdout } = await own.exec.run("sh", ["-c", "ls -l /proc/self/fd"]);
  assert.doesNotMatch(stdout, new RegExp(join(dir, "lock")));
  await lock.release();
});
