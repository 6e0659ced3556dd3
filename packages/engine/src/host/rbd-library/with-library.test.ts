import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import { cephOfFile, eventually, withCeph } from "@mooring/store/testing";
import { RbdCommands } from "../../pools/rbd/commands.ts";
import { readOmapValue } from "../../pools/rbd/omap.ts";
import { readWatchers } from "../../pools/rbd/shut-out.ts";
import { scratch } from "../../testing/scratch.ts";
import { createClock } from "../clock.ts";
import { createHost } from "../create-host.ts";
import { createExec } from "../exec.ts";
import type { Exec, ExecResult } from "../host.ts";
import { connected, libraryProcesses, placeIn } from "./testing/connected.ts";
import { withRbdLibrary } from "./with-library.ts";

const withCluster = await withCeph();
const cluster = cephOfFile(after);
const host = createHost();
const clock = createClock();
const programs = createExec();
const NOTHING: ExecResult = { stdout: "", stderr: "", exitCode: 2, signal: null };

/** What is read of it, in a form that both have. */
function known({ exitCode, stdout }: ExecResult): unknown {
  if (stdout === "") return exitCode;
  const { name, id, size, features, parent, create_timestamp } = JSON.parse(stdout);
  const below = parent && { id: parent.id, trash: parent.trash };
  return { exitCode, name, id, size, features, below, madeAt: Date.parse(`${create_timestamp} UTC`) };
}

test("the library does and finds what the programs do and find, and starts none", withCluster, async (t) => {
  const ceph = await cluster();
  const folder = await scratch(t, host);
  const place = placeIn(ceph, await ceph.namespace());
  const { commands: library, started } = await connected(place, folder);
  const program = new RbdCommands({ exec: programs, clock, place, folder });
  program.reuse();
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
  const list = async (commands: RbdCommands) => {
    const { stdout } = await commands.rbd(["ls", "-l", "--format", "json"]);
    const entries: { image: string; size: number }[] = JSON.parse(stdout);
    return new Map(entries.map(({ image, size }) => [image, size]));
  };
  assert.deepEqual(await list(library), new Map([["copy", 67_108_864]]));
  assert.deepEqual(await list(program), await list(library));
  await program.rbd(["image-meta", "set", "copy", "sector", "512 bytes of a sector"]);
  const { id } = await info("copy");
  const metadata = async (commands: RbdCommands, key: string) => [
    await readOmapValue(commands, `rbd_header.${id}`, `metadata_${key}`),
    await readOmapValue(commands, "rbd_header.abc", `metadata_${key}`),
  ];
  for (const key of ["sector", "nothing"])
    assert.deepEqual(await metadata(library, key), await metadata(program, key));
  assert.deepEqual(await metadata(library, "sector"), ["512 bytes of a sector", undefined]);
  const room = async (commands: RbdCommands) => {
    const { stdout } = await commands.ceph(["df", "detail", "--format", "json"]);
    const pools: { name: string; stats: object }[] = JSON.parse(stdout).pools;
    return pools.map(({ name, stats }) => [name, Object.keys(stats)]);
  };
  assert.deepEqual(await room(library), await room(program));
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
    const folder = await scratch(t, host);
    const before = libraryProcesses();
    const { commands, started } = await connected(placeIn(ceph, await ceph.namespace()), folder);
    const create = ["create", "--size", "33554432B", "twice"];
    await commands.rbd(create);
    await assert.rejects(commands.rbd(create), {
      code: "ALREADY_EXISTS",
      message: /File exists|already exists/,
    });
    assert.equal(started.length, 1);
    for (const pid of libraryProcesses(before)) process.kill(pid, "SIGKILL");
    const { exitCode } = await commands.rbd(["info", "--format", "json", "twice"]);
    assert.equal(exitCode, 0);
  },
);

test("a namespace that is not there is another thing than an image that is not", withCluster, async (t) => {
  const ceph = await cluster();
  const folder = await scratch(t, host);
  const library = withRbdLibrary(programs, () => clock.sinceBoot());
  const commands = new RbdCommands({ exec: library, clock, place: placeIn(ceph, "absent"), folder });
  await commands.prepare();
  const before = libraryProcesses();
  const read = () => commands.rbd(["info", "--format", "json", "x"], { allow: [2] });
  assert.doesNotMatch((await read()).stderr, /error opening image x/);
  // The library, which is asked as soon as it is connected, leaves it to the program and begins anew.
  const [first] = libraryProcesses(before);
  await eventually("another process", async () => {
    assert.doesNotMatch((await read()).stderr, /error opening image x/);
    return libraryProcesses(before).some((pid) => pid !== first);
  });
});

test("whoever waits no longer is not kept by a cluster that is silent", withCluster, async (t) => {
  const ceph = await cluster();
  const folder = await scratch(t, host);
  const before = libraryProcesses();
  const { commands } = await connected(placeIn(ceph, await ceph.namespace()), folder);
  await commands.rbd(["create", "--size", "33554432B", "slow"]);
  for (const pid of libraryProcesses(before)) process.kill(pid, "SIGSTOP");
  const message = /does not respond/;
  await assert.rejects(commands.rbd(["info", "--format", "json", "slow"], { limit: 1000 }), { message });
  await eventually("the process to have ended", async () => libraryProcesses(before).length === 0);
});

test("a call that may take an hour is a program's when the library is stuck", withCluster, async (t) => {
  const ceph = await cluster();
  const folder = await scratch(t, host);
  const before = libraryProcesses();
  const { commands, started } = await connected(placeIn(ceph, await ceph.namespace()), folder);
  await commands.rbd(["create", "--size", "33554432B", "removed"]);
  const { id } = JSON.parse((await commands.rbd(["info", "--format", "json", "removed"])).stdout);
  await commands.rbd(["trash", "mv", "removed"]);
  for (const pid of libraryProcesses(before)) process.kill(pid, "SIGSTOP");
  const removal = commands.rbd(["trash", "rm", "--no-progress", id], { limit: 3_600_000 });
  // That it is stuck is seen by a call that may not take so long.
  const read = ["info", "--format", "json", "other"];
  await assert.rejects(commands.rbd(read, { limit: 1000 }), { code: "UNAVAILABLE" });
  await removal;
  assert.match(started.join(), /trash rm/);
});

test(
  "a monitor that never responds keeps nobody waiting for the library, and no process",
  withCluster,
  async (t) => {
    const folder = await scratch(t, host);
    const monitor = createServer().listen(0, "127.0.0.1");
    t.after(() => monitor.close());
    await once(monitor, "listening");
    const address = monitor.address();
    assert.ok(address !== null && typeof address === "object");
    const conf = join(folder, "silent.conf");
    writeFileSync(conf, `[global]\nmon_host = v2:127.0.0.1:${address.port}\nauth_client_required = none\n`);
    const before = libraryProcesses();
    const started: string[] = [];
    const start: Exec["try"] = async (file) => {
      started.push(file);
      return NOTHING;
    };
    const exec: Exec = { ...programs, try: start };
    const library = withRbdLibrary(exec, () => clock.sinceBoot());
    const args = ["--conf", conf, "--id", "x", "--pool", "x", "info", "--format", "json", "x"];
    await library.try("rbd", args);
    await once(monitor, "connection");
    await library.try("rbd", args);
    assert.deepEqual(started, ["rbd", "rbd"]);
    assert.equal(libraryProcesses(before).length, 1);
    await eventually("the process to have ended", async () => libraryProcesses(before).length === 0);
  },
);

test("what is not there is named", withCluster, async (t) => {
  const ceph = await cluster();
  const folder = await scratch(t, host);
  const { commands } = await connected(placeIn(ceph, await ceph.namespace()), folder);
  await commands.rbd(["create", "--size", "33554432B", "there"]);
  const { destination } = commands;
  const allow = [2];
  const words = async (...args: string[]) => (await commands.rbd(args, { allow })).stderr;
  assert.match(await words("snap", "create", "--no-progress", "absent@s"), /opening .* absent@s:/);
  assert.doesNotMatch(await words("clone", ...destination, "there@absent", "copy"), /opening image copy/);
  assert.match(await words("snap", "rm", "--no-progress", "there@absent"), /opening .* there@absent:/);
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
  await ceph.admin("ceph", "config", "set", "mon", "mon_allow_pool_delete", "true");
  t.after(() => remove());
  const remove = () =>
    ceph.admin("ceph", "osd", "pool", "rm", "again", "again", "--yes-i-really-really-mean-it");
  await make();
  const { commands } = await connected({ conf, user, keyring, pool: "again" }, folder);
  assert.equal((await commands.rbd(["info", "--format", "json", "image"])).exitCode, 0);
  await remove();
  await make();
  assert.equal((await commands.rbd(["info", "--format", "json", "image"])).exitCode, 0);
});
