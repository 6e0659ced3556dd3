import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { type CephCluster, cephOfFile, eventually, withCeph } from "@mooring/store/testing";
import { RbdCommands } from "../../pools/rbd/commands.ts";
import { readWatchers } from "../../pools/rbd/shut-out.ts";
import { scratch } from "../../testing/scratch.ts";
import { createClock } from "../clock.ts";
import { createHost } from "../create-host.ts";
import { createExec } from "../exec.ts";
import type { Exec, ExecResult } from "../host.ts";
import { withRbdLibrary } from "./with-library.ts";

const withCluster = await withCeph();
const cluster = cephOfFile(after);
const host = createHost();
const clock = createClock();
const programs = createExec();

/** Programs, of which it is kept which were started. */
function counted(): { exec: Exec; started: string[] } {
  const started: string[] = [];
  const exec: Exec = {
    ...programs,
    try: (file, args, options) => {
      started.push(args.join(" "));
      return programs.try(file, args, options);
    },
  };
  return { exec, started };
}

async function commandsOf(ceph: CephCluster, exec: Exec, folder: string, namespace: string) {
  const { conf, user, keyring, pool } = ceph;
  const commands = new RbdCommands({ exec, clock, place: { conf, user, keyring, pool, namespace }, folder });
  await commands.prepare();
  return commands;
}

/** What is read of it, in a form that both have. */
function known({ exitCode, stdout }: ExecResult): unknown {
  if (stdout === "") return exitCode;
  const { name, id, size, features, parent, create_timestamp } = JSON.parse(stdout);
  const below = parent && { id: parent.id, trash: parent.trash };
  return { exitCode, name, id, size, features, below, madeAt: Date.parse(`${create_timestamp} UTC`) };
}

/** Processes of libraries that this process has begun, but for those that were there before. */
function libraryProcesses(before: readonly number[] = []): number[] {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, "utf8").trim().split(" ");
  const begun = children.map(Number).filter((pid) => !before.includes(pid));
  return begun.filter((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("librbd.so"));
}

test("the library does and finds what the programs do and find, and starts none", withCluster, async (t) => {
  const ceph = await cluster();
  const namespace = await ceph.namespace();
  const { exec, started } = counted();
  const folder = await scratch(t, host);
  const library = await commandsOf(
    ceph,
    withRbdLibrary(exec, () => clock.sinceBoot()),
    folder,
    namespace,
  );
  const program = await commandsOf(ceph, programs, folder, namespace);
  const same = async (...args: string[]) => {
    const allow = [2, 39];
    const found = known(await library.rbd(args, { allow }));
    assert.deepEqual(found, known(await program.rbd(args, { allow })), args.join(" "));
    return found as { exitCode: number; id: string; size: number; below?: { id: string; trash: boolean } };
  };
  const info = (name: string) => same("info", "--format", "json", name);
  const change = (...args: string[]) => library.rbd(args);
  assert.equal(await info("absent"), 2);
  await change("create", "--size", "33554432B", "first");
  const first = await info("first");
  await change("snap", "create", "--no-progress", "first@now");
  await change("clone", ...library.destination, "first@now", "copy");
  assert.deepEqual((await info("copy")).below, { id: first.id, trash: false });
  await change("snap", "rm", "--no-progress", "first@now");
  await change("resize", "--no-progress", "--size", "67108864B", "copy");
  assert.equal((await info("copy")).size, 67_108_864);
  assert.deepEqual(await readWatchers(library, "copy"), []);
  await change("rename", "first", "gone");
  await change("trash", "mv", "gone");
  assert.equal((await info("copy")).below?.trash, true);
  await same("info", "--format", "json", "--image-id", first.id);
  const remove = ["trash", "rm", "--no-progress", first.id];
  assert.equal(await same(...remove), 39, "its copy needs it");
  const copy = await info("copy");
  await change("trash", "mv", "copy");
  await change("trash", "rm", "--no-progress", copy.id);
  await change(...remove);
  assert.equal(await same(...remove), 2);
  assert.deepEqual(started, []);
});

test(
  "what the library cannot do the program says, and a process that is killed is replaced",
  withCluster,
  async (t) => {
    const ceph = await cluster();
    const { exec, started } = counted();
    const folder = await scratch(t, host);
    const namespace = await ceph.namespace();
    const commands = await commandsOf(
      ceph,
      withRbdLibrary(exec, () => clock.sinceBoot()),
      folder,
      namespace,
    );
    const create = ["create", "--size", "33554432B", "twice"];
    await commands.rbd(create);
    await assert.rejects(commands.rbd(create), {
      code: "ALREADY_EXISTS",
      message: /File exists|already exists/,
    });
    assert.equal(started.length, 1);
    for (const pid of libraryProcesses()) process.kill(pid, "SIGKILL");
    const { exitCode } = await commands.rbd(["info", "--format", "json", "twice"]);
    assert.equal(exitCode, 0);
    const elsewhere = await commandsOf(
      ceph,
      withRbdLibrary(exec, () => clock.sinceBoot()),
      folder,
      "absent",
    );
    const lost = await elsewhere.rbd(["info", "--format", "json", "x"], { allow: [2] });
    assert.doesNotMatch(
      lost.stderr,
      /error opening image x/,
      "the namespace is not there, which is another thing",
    );
  },
);

test("whoever waits no longer is not kept by a cluster that is silent", withCluster, async (t) => {
  const ceph = await cluster();
  const folder = await scratch(t, host);
  const before = libraryProcesses();
  const library = withRbdLibrary(programs, () => clock.sinceBoot());
  const commands = await commandsOf(ceph, library, folder, await ceph.namespace());
  await commands.rbd(["create", "--size", "33554432B", "slow"]);
  for (const pid of libraryProcesses(before)) process.kill(pid, "SIGSTOP");
  const message = /does not respond/;
  await assert.rejects(commands.rbd(["info", "--format", "json", "slow"], { limit: 1000 }), { message });
  await eventually("the process to have ended", async () => libraryProcesses(before).length === 0);
});

test("a pool that is made anew under its name is read anew", withCluster, async (t) => {
  const ceph = await cluster();
  const folder = await scratch(t, host);
  const { conf, user, keyring } = ceph;
  const make = async () => {
    await ceph.admin("ceph", "osd", "pool", "create", "again", "1");
    await ceph.admin("ceph", "osd", "pool", "application", "enable", "again", "rbd");
    await ceph.admin("rbd", "--pool", "again", "create", "--size", "32M", "image");
  };
  const library = withRbdLibrary(programs, () => clock.sinceBoot());
  const place = { conf, user, keyring, pool: "again" };
  const commands = new RbdCommands({ exec: library, clock, place, folder });
  await commands.prepare();
  await ceph.admin("ceph", "config", "set", "mon", "mon_allow_pool_delete", "true");
  t.after(() => remove());
  const remove = () =>
    ceph.admin("ceph", "osd", "pool", "rm", "again", "again", "--yes-i-really-really-mean-it");
  await make();
  assert.equal((await commands.rbd(["info", "--format", "json", "image"])).exitCode, 0);
  await remove();
  await make();
  assert.equal((await commands.rbd(["info", "--format", "json", "image"])).exitCode, 0);
});
