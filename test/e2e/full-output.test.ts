import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, readFile, rm, statfs, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { eventually, thorough } from "@mooring/store/testing";
import { Kubectl } from "../support/kubectl.ts";
import { nothingSleeps, sleepersSocket } from "../support/sleepers.ts";
import { SmallDisk } from "../support/small-disk.ts";

const BUNDLE = fileURLToPath(new URL("../../dist/mooring.mjs", import.meta.url));
const DEFECT = /Unhandled|uncaught|Node\.js v|at .*\.mjs:/;

interface Outputs {
  stdout?: string;
  stderr?: string;
}

/** Runs the command with its output in these files, else in new ones. */
async function start(t: TestContext, args: readonly string[], to: Outputs) {
  const folder = await mkdtemp(join(tmpdir(), "mooring-output-"));
  t.after(() => rm(folder, { recursive: true }));
  const { stdout = join(folder, "stdout"), stderr = join(folder, "stderr") } = to;
  const [out, err] = [await open(stdout, "a"), await open(stderr, "a")];
  const sleepers = join(folder, "sleepers");
  const child = spawn(process.execPath, [BUNDLE, ...args], {
    stdio: ["ignore", out.fd, err.fd],
    env: { ...process.env, ...sleepersSocket(sleepers) },
  });
  await out.close();
  await err.close();
  return { child, sleepers, stdout: () => readFile(stdout, "utf8"), stderr: () => readFile(stderr, "utf8") };
}

async function startUp(t: TestContext, to: Outputs) {
  const stateDir = await mkdtemp(join(tmpdir(), "mooring-state-"));
  const readyFile = join(stateDir, "ready");
  const where = ["--state-dir", stateDir, "--listen", "127.0.0.1:0", "--node-name", "node-a"];
  const args = ["up", ...where, "--pool", "directory", "--log-level", "debug", "--ready-file", readyFile];
  const up = await start(t, args, to);
  t.after(async () => {
    await endOf(up.child);
    await rm(stateDir, { recursive: true });
  });
  await eventually("mooring up to be ready", async () => {
    assert.equal(up.child.exitCode, null, "it has ended");
    return readFile(readyFile).then(
      () => true,
      () => undefined,
    );
  });
  const stop = async () => {
    await nothingSleeps(up.sleepers);
    return endOf(up.child);
  };
  return { ...up, stop, kubectl: new Kubectl(join(stateDir, "kubeconfig")) };
}

/** Its exit code. */
async function endOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null) return child.exitCode;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
  return child.exitCode;
}

test("a command whose output goes to a full disk ends with that, and what to do", thorough(), async (t) => {
  for (const args of [["version"], ["--help"], ["up", "--help"], ["--version"]]) {
    const { child, stderr } = await start(t, args, { stdout: "/dev/full" });
    const [code] = await once(child, "exit");
    assert.equal(code, 2, args.join(" "));
    assert.match(await stderr(), /^error: the output cannot be written: ENOSPC.*\nnext: make room where/);
  }
  const silent = await start(t, ["why", "pod/x", "--kubeconfig", "/none"], { stderr: "/dev/full" });
  assert.equal((await once(silent.child, "exit"))[0], 2);
});

test(
  "mooring up works with its output on /dev/full, and says so where that can be read",
  thorough(),
  async (t) => {
    const up = await startUp(t, { stdout: "/dev/full" });
    await up.kubectl.run("create", "configmap", "made");
    const said = await up.stderr();
    assert.match(said, /^warning: the output cannot be written: ENOSPC.*\nnext: /m);
    assert.equal(await up.stop(), 0);
    assert.doesNotMatch(await up.stderr(), DEFECT);
  },
);

test("mooring up works with its log on /dev/full", thorough(), async (t) => {
  const up = await startUp(t, { stderr: "/dev/full" });
  assert.match(await up.stdout(), /^mooring is up\n/);
  await up.kubectl.run("create", "configmap", "made");
  assert.equal(await up.stop(), 0);
});

test("a log on a disk that fills up ends nothing, and goes on when there is room", thorough(), async (t) => {
  const disk = await SmallDisk.create(20);
  t.after(() => disk.dispose());
  const log = join(disk.folder, "log");
  await writeFile(log, "");
  const up = await startUp(t, { stderr: log });
  await disk.fill(0);
  const lengthOf = async () => (await readFile(log)).length;
  const make = (name: string) => up.kubectl.run("create", "configmap", name);
  for (let round = 0, before = -1; before !== (await lengthOf()); round++) {
    before = await lengthOf();
    await make(`full-${round}`);
  }
  assert.equal((await statfs(disk.folder)).bavail, 0);
  const full = await lengthOf();
  await disk.makeRoom();
  await eventually("the log to go on", async () => {
    await make(`after-${performance.now()}`.replace(".", "-"));
    return (await lengthOf()) > full;
  });
  assert.equal(await up.stop(), 0);
  assert.doesNotMatch(await readFile(log, "utf8"), DEFECT);
});

test("mooring up whose --ready-file is on /dev/full stops and says so, instead of serving unseen", async (t) => {
  const stateDir = await mkdtemp(join(tmpdir(), "mooring-state-"));
  t.after(() => rm(stateDir, { recursive: true }));
  const where = ["--state-dir", stateDir, "--listen", "127.0.0.1:0", "--node-name", "node-a"];
  const { child, stderr } = await start(
    t,
    ["up", ...where, "--pool", "directory", "--ready-file", "/dev/full"],
    {},
  );
  t.after(() => endOf(child));
  await eventually("it to end", () => child.exitCode !== null);
  assert.equal(child.exitCode, 2);
  assert.match(
    await stderr(),
    /^error: \/dev\/full cannot be written: its disk is full \(ENOSPC\)\nnext: make room/m,
  );
});
