import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { silentLogger } from "@mooring/store";
import { bundleProgram, eventually } from "@mooring/store/testing";
import { cgroupName } from "./cgroups.ts";
import { createProcessRuntime } from "./process-runtime.ts";
import type { ContainerConfig, Runtime } from "./runtime.ts";

const starter = await bundleProgram(new URL("testing/start-containers.ts", import.meta.url));
after(starter.remove);

const pod = { uid: "uid", namespace: "default", name: "pod" };
const container = { id: "uid_main_0", pod, name: "main", attempt: 0 };

const config = (script: string): ContainerConfig => ({
  ...container,
  argv: ["sh", "-c", script],
  env: { PATH: "/usr/bin:/bin" },
  hostname: "pod",
  user: { uid: 0, gid: 0, groups: [] },
  mounts: [],
  devices: [],
});

async function open(t: TestContext): Promise<{ runtime: Runtime; stateDir: string }> {
  const stateDir = await mkdtemp("/tmp/mooring-runtime-");
  const runtime = await createProcessRuntime({ stateDir, logger: silentLogger });
  t.after(async () => {
    await runtime.close();
    await rm(stateDir, { recursive: true });
  });
  return { runtime, stateDir };
}

/** Processes that wait for the order to start the container. */
function waiting(stateDir: string): number {
  const groups = ["", "unified/", "freezer/"].map((hierarchy) =>
    join("/sys/fs/cgroup", hierarchy, cgroupName(stateDir), pod.uid, `${container.id}~monitor/cgroup.procs`),
  );
  const group = groups.find((path) => existsSync(path));
  return group === undefined ? 0 : execFileSync("cat", [group]).toString().split("\n").filter(Boolean).length;
}

async function prepared(t: TestContext): Promise<{ runtime: Runtime; stateDir: string }> {
  const made = await open(t);
  made.runtime.prepareStart(container);
  await eventually("the monitor to wait", () => waiting(made.stateDir) > 0);
  return made;
}

/** Kills what starts monitors, and returns how many there were. */
function killLauncher(): number {
  const pids = execFileSync("pgrep", ["--parent", String(process.pid), "perl"])
    .toString()
    .trim()
    .split("\n");
  for (const pid of pids) process.kill(Number(pid), "SIGKILL");
  return pids.length;
}

async function runsToEnd(runtime: Runtime): Promise<void> {
  await runtime.start(config("exit 7"));
  await eventually("its end", () => runtime.get(container.id)?.exit?.code === 7);
  await runtime.remove(container.id);
  await runtime.removePod(pod);
}

test("a start that was prepared uses what is there", async (t) => {
  const { runtime, stateDir } = await prepared(t);
  // Asked for again as long as the pod's volumes change.
  runtime.prepareStart(container);
  assert.deepEqual(runtime.list(), [], "nothing has been started");
  await runsToEnd(runtime);
  assert.equal(waiting(stateDir), 0);
});

test("a start that was prepared for a pod that goes leaves nothing", async (t) => {
  const { runtime, stateDir } = await prepared(t);
  await runtime.removePod(pod);
  assert.equal(waiting(stateDir), 0);
  assert.deepEqual(await readdir(join(stateDir, "runtime/containers")), []);
  assert.deepEqual(await runtime.podsOnDisk(), []);
});

test("a start that was prepared when the runtime is closed leaves nothing that runs", async (t) => {
  const { runtime, stateDir } = await prepared(t);
  await runtime.close();
  assert.equal(waiting(stateDir), 0);
  assert.deepEqual(await readdir(join(stateDir, "runtime/containers")), []);
});

test("what was prepared and has been killed since is made again", async (t) => {
  const { runtime, stateDir } = await prepared(t);
  assert.equal(killLauncher(), 1);
  await eventually("the monitor to end with it", () => waiting(stateDir) === 0);
  await runsToEnd(runtime);
});

test("pods that wait for ever have a bounded number of processes", async (t) => {
  const { runtime, stateDir } = await open(t);
  const ids = Array.from({ length: 40 }, (_, index) => `uid_many-${index}_0`);
  for (const id of ids) runtime.prepareStart({ ...container, id, name: id.slice(4, -2) });
  const folders = () => readdir(join(stateDir, "runtime/containers"));
  await eventually("32 to be made", async () => (await folders()).length === 32);
  await runtime.removePod(pod);
  assert.deepEqual(await folders(), []);
});

test("kill -9 while a start is prepared: no process is left, and the container starts in the next life", async (t) => {
  const stateDir = await mkdtemp("/tmp/mooring-runtime-");
  t.after(() => rm(stateDir, { recursive: true }));
  const child = spawn(process.execPath, [starter.path], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, STATE_DIR: stateDir, PREPARE_ONLY: "1" },
  });
  const exit = once(child, "exit");
  child.stdin.end(JSON.stringify([config("exit 7")]));
  await eventually("the monitor to wait", () => waiting(stateDir) > 0);
  child.kill("SIGKILL");
  await exit;
  await eventually("the monitor to end", () => waiting(stateDir) === 0);
  const runtime = await createProcessRuntime({ stateDir, logger: silentLogger });
  try {
    assert.deepEqual(runtime.list(), []);
    await runsToEnd(runtime);
  } finally {
    await runtime.close();
  }
});
