import assert from "node:assert/strict";
import { mkdir, readdir, readFile, readlink, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { silentLogger } from "@mooring/store";
import { createHost } from "../../host/create-host.ts";
import { MIB, scratch, sparse } from "../../testing/scratch.ts";
import { controlGroup } from "../group-snapshot/testing/use-volume.ts";
import { Freezes } from "./index.ts";

const host = createHost();

async function setUp(t: TestContext): Promise<{ mount: string; state: string }> {
  const dir = await scratch(t, host);
  const mount = join(dir, "mount");
  await mkdir(mount);
  const image = await sparse(join(dir, "image"), 32 * MIB);
  await host.exec.run("mkfs.ext4", ["-q", image]);
  await host.exec.run("mount", ["-o", "loop", image, mount]);
  return { mount, state: join(dir, "state") };
}

async function eventually(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 90_000;
  while (!(await holds())) {
    assert.ok(performance.now() < deadline, `waited in vain for ${what}`);
    await pause(20);
  }
}

const notes = (state: string): Promise<string[]> => readdir(join(state, "freezes"));

/** Tells, and lets everybody go on. */
async function wasFrozen(mount: string): Promise<boolean> {
  return (await host.exec.try("fsfreeze", ["--unfreeze", mount])).exitCode === 0;
}

async function holders(mount: string): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const args = (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).split("\0");
      return args.includes("mooring-freeze") && args.includes(mount) ? Number(pid) : 0;
    }),
  );
  return found.filter((pid) => pid !== 0);
}

test("a freeze that ended without its agent leaves no note: what somebody else froze since stays frozen", async (t) => {
  const { mount, state } = await setUp(t);
  const freezes = new Freezes(state, silentLogger);
  await (await freezes.arm([{ kind: "filesystem", path: mount }], 5)).freeze();
  // As after the agent's death: nobody asks for the thaw.
  await eventually("the end of the note", async () => (await notes(state)).length === 0);
  await host.exec.run("fsfreeze", ["--freeze", mount]);
  await new Freezes(state, silentLogger).undoLeftovers(host.exec);
  assert.equal(await wasFrozen(mount), true);
});

test("a freeze whose holder was killed as well is undone by the next agent", async (t) => {
  const { mount, state } = await setUp(t);
  const freezes = new Freezes(state, silentLogger);
  await (await freezes.arm([{ kind: "filesystem", path: mount }], 600)).freeze();
  process.kill(-(await sessionOf(mount)), "SIGKILL");
  await eventually("the end of the holders", async () => (await holders(mount)).length === 0);
  assert.equal((await notes(state)).length, 1);
  await new Freezes(state, silentLogger).undoLeftovers(host.exec);
  assert.equal(await wasFrozen(mount), false);
  assert.deepEqual(await notes(state), []);
});

/** The group of processes that all holders of one freeze are in. */
async function sessionOf(mount: string): Promise<number> {
  const [first = 0] = await holders(mount);
  assert.ok(first > 0);
  return Number((await host.exec.run("ps", ["-o", "pgid=", "-p", String(first)])).stdout.trim());
}

test("a freeze whose holder was killed is undone by the agent, which says that it did not last", async (t) => {
  const { mount, state } = await setUp(t);
  const freezer = await new Freezes(state, silentLogger).arm([{ kind: "filesystem", path: mount }], 600);
  await freezer.freeze();
  process.kill(-(await sessionOf(mount)), "SIGKILL");
  assert.equal(await freezer.thaw(), false);
  assert.equal(await wasFrozen(mount), false);
  assert.deepEqual(await notes(state), []);
});

test("a freeze whose holder was killed, and that somebody else has undone, is over without a complaint", async (t) => {
  const { mount, state } = await setUp(t);
  const freezer = await new Freezes(state, silentLogger).arm([{ kind: "filesystem", path: mount }], 600);
  await freezer.freeze();
  process.kill(-(await sessionOf(mount)), "SIGKILL");
  await eventually("the end of the holders", async () => (await holders(mount)).length === 0);
  assert.equal(await wasFrozen(mount), true);
  assert.equal(await freezer.thaw(), false);
  assert.deepEqual(await notes(state), []);
});

test("a holder that is killed alone: frozen until the end all the same, and thawed then without the agent", async (t) => {
  const { mount, state } = await setUp(t);
  const freezes = new Freezes(state, silentLogger);
  await (await freezes.arm([{ kind: "filesystem", path: mount }], 30)).freeze();
  const open = await Promise.all(
    (await holders(mount)).map(async (pid) =>
      (await readlink(`/proc/${pid}/fd/6`).catch(() => "")) === mount ? pid : 0,
    ),
  );
  const [holder = 0, ...others] = open.filter((pid) => pid > 0);
  assert.ok(holder > 0 && others.length === 0);
  process.kill(holder, "SIGKILL");
  await assert.rejects(host.exec.run("timeout", ["0.5", "touch", join(mount, "early")]));
  await eventually("the end of the note", async () => (await notes(state)).length === 0);
  assert.equal(await wasFrozen(mount), false);
});

test("a frozen file system cannot be unmounted before it is let go, wherever else its path leads by then", async (t) => {
  const { mount, state } = await setUp(t);
  const freezer = await new Freezes(state, silentLogger).arm([{ kind: "filesystem", path: mount }], 600);
  await freezer.freeze();
  // Its mount would be gone and its device held for ever: nobody can thaw what is mounted nowhere.
  assert.notEqual((await host.exec.try("umount", [mount])).exitCode, 0);
  await host.exec.run("mount", ["-t", "tmpfs", "covers", mount]);
  assert.equal(await freezer.thaw(), true);
  await host.exec.run("umount", [mount]);
  assert.equal(await wasFrozen(mount), false);
  assert.deepEqual(await notes(state), []);
});

test("a control group that is gone with its pod is let go, also when its holder was killed", async (t) => {
  const { state } = await setUp(t);
  const group = await controlGroup(t);
  const freezer = await new Freezes(state, silentLogger).arm([{ kind: "cgroup", path: group }], 600);
  await freezer.freeze();
  process.kill(-(await sessionOf(group)), "SIGKILL");
  await eventually("the end of the holders", async () => (await holders(group)).length === 0);
  await rmdir(group);
  assert.equal(await freezer.thaw(), false);
  assert.deepEqual(await notes(state), []);
});
