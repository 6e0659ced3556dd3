import assert from "node:assert/strict";
import { readlink, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { silentLogger } from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { controlGroup } from "../group-snapshot/testing/use-volume.ts";
import { Freezes } from "./index.ts";
import { freezers, host, notes, sessionOf, setUp, wasFrozen } from "./testing/frozen-mount.ts";

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

test("a freeze whose process was killed as well is undone by the next agent", async (t) => {
  const { mount, state } = await setUp(t);
  const freezes = new Freezes(state, silentLogger);
  await (await freezes.arm([{ kind: "filesystem", path: mount }], 600)).freeze();
  process.kill(-(await sessionOf(mount)), "SIGKILL");
  await eventually("the end of the freezing processes", async () => (await freezers(mount)).length === 0);
  assert.equal((await notes(state)).length, 1);
  await new Freezes(state, silentLogger).undoLeftovers(host.exec);
  assert.equal(await wasFrozen(mount), false);
  assert.deepEqual(await notes(state), []);
});

test("a freeze whose process was killed is undone by the agent, which reports that it did not last", async (t) => {
  const { mount, state } = await setUp(t);
  const freezer = await new Freezes(state, silentLogger).arm([{ kind: "filesystem", path: mount }], 600);
  await freezer.freeze();
  process.kill(-(await sessionOf(mount)), "SIGKILL");
  assert.equal(await freezer.thaw(), false);
  assert.equal(await wasFrozen(mount), false);
  assert.deepEqual(await notes(state), []);
});

test("a freeze whose process was killed, and that somebody else has undone, is over without a complaint", async (t) => {
  const { mount, state } = await setUp(t);
  const freezer = await new Freezes(state, silentLogger).arm([{ kind: "filesystem", path: mount }], 600);
  await freezer.freeze();
  process.kill(-(await sessionOf(mount)), "SIGKILL");
  await eventually("the end of the freezing processes", async () => (await freezers(mount)).length === 0);
  assert.equal(await wasFrozen(mount), true);
  assert.equal(await freezer.thaw(), false);
  assert.deepEqual(await notes(state), []);
});

test("a freezing process that is killed alone: frozen until the end all the same, and thawed then without the agent", async (t) => {
  const { mount, state } = await setUp(t);
  const freezes = new Freezes(state, silentLogger);
  await (await freezes.arm([{ kind: "filesystem", path: mount }], 30)).freeze();
  const open = await Promise.all(
    (await freezers(mount)).map(async (pid) =>
      (await readlink(`/proc/${pid}/fd/6`).catch(() => "")) === mount ? pid : 0,
    ),
  );
  const [freezer = 0, ...others] = open.filter((pid) => pid > 0);
  assert.ok(freezer > 0 && others.length === 0);
  process.kill(freezer, "SIGKILL");
  await assert.rejects(host.exec.run("timeout", ["0.5", "touch", join(mount, "too-soon")]));
  await eventually("the end of the note", async () => (await notes(state)).length === 0);
  assert.equal(await wasFrozen(mount), false);
});

test("a frozen file system cannot be unmounted before it is thawed, wherever else its path leads by then", async (t) => {
  const { mount, state } = await setUp(t);
  const freezer = await new Freezes(state, silentLogger).arm([{ kind: "filesystem", path: mount }], 600);
  await freezer.freeze();
  // Its mount would be gone and its device busy for ever: nobody can thaw what is mounted nowhere.
  assert.notEqual((await host.exec.try("umount", [mount])).exitCode, 0);
  await host.exec.run("mount", ["-t", "tmpfs", "covers", mount]);
  assert.equal(await freezer.thaw(), true);
  await host.exec.run("umount", [mount]);
  assert.equal(await wasFrozen(mount), false);
  assert.deepEqual(await notes(state), []);
});

test("a control group that is gone with its pod counts as thawed, also when its process was killed", async (t) => {
  const { state } = await setUp(t);
  const group = await controlGroup(t);
  const freezer = await new Freezes(state, silentLogger).arm([{ kind: "cgroup", path: group }], 600);
  await freezer.freeze();
  process.kill(-(await sessionOf(group)), "SIGKILL");
  await eventually("the end of the freezing processes", async () => (await freezers(group)).length === 0);
  await rmdir(group);
  assert.equal(await freezer.thaw(), false);
  assert.deepEqual(await notes(state), []);
});
