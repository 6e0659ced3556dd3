import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import { after, afterEach, beforeEach, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { createHost } from "@mooring/engine";
import { silentLogger } from "@mooring/store";
import { bundleProgram, eventually, killEveryFailpoint, thorough } from "@mooring/store/testing";
import { cgroupName } from "./cgroups.ts";
import { containerFiles, readStatus, writeRecord } from "./container-files.ts";
import { prepareLaunch } from "./launch.ts";
import { Launcher } from "./launcher.ts";
import { identify, isAlive } from "./process-identity.ts";
import { createProcessRuntime } from "./process-runtime.ts";
import type { ContainerConfig, ContainerStatus, Runtime } from "./runtime.ts";

const starter = await bundleProgram(new URL("testing/start-containers.ts", import.meta.url));
after(starter.remove);
let stateDir: string;

beforeEach(async () => {
  stateDir = await mkdtemp("/tmp/mooring-runtime-");
});

afterEach(async () => {
  assert.doesNotMatch(await readFile("/proc/self/mountinfo", "utf8"), new RegExp(stateDir));
  await rm(stateDir, { recursive: true });
});

const config = (script: string): ContainerConfig => ({
  id: "uid_main_0",
  pod: { uid: "uid", namespace: "default", name: "pod" },
  name: "main",
  attempt: 0,
  argv: ["sh", "-c", script],
  env: { PATH: "/usr/bin:/bin" },
  hostname: "pod",
  user: { uid: 0, gid: 0, groups: [] },
  mounts: [],
  devices: [],
});

async function reaches(runtime: Runtime, state: ContainerStatus["state"]): Promise<ContainerStatus> {
  const signal = AbortSignal.timeout(60_000);
  for (;;) {
    const status = runtime.get("uid_main_0");
    if (status?.state === state) return status;
    await new Promise<void>((resolve, reject) => {
      const stop = runtime.onChange(() => resolve());
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      signal.addEventListener("abort", stop, { once: true });
    });
  }
}

async function end(runtime: Runtime): Promise<void> {
  for (const { id, pod } of runtime.list()) {
    await runtime.stop(id, { graceMs: 0 });
    await runtime.remove(id);
    await runtime.removePod(pod);
  }
  await runtime.close();
}

/** A process that starts the container and dies: at the failpoint, else once the container runs. */
async function startAndDie(wanted: ContainerConfig, failpoint = ""): Promise<void> {
  const child = spawn(process.execPath, [starter.path], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, STATE_DIR: stateDir, MOORING_FAILPOINT: failpoint },
  });
  const exit = once(child, "exit");
  child.stdin.end(JSON.stringify([wanted]));
  child.stdout.once("data", () => child.kill("SIGKILL"));
  assert.deepEqual(await exit, [null, "SIGKILL"]);
}

killEveryFailpoint(["scratch-mounted", "layer-mounted", "moved"], { everyday: 1 }, (failpoint) => {
  test(`the root of containers is made again after a kill at ${failpoint}`, async () => {
    const wanted = config("exit 7");
    await startAndDie(wanted, `standalone/runtime/root-${failpoint}`);
    const runtime = await createProcessRuntime({ stateDir, logger: silentLogger });
    try {
      await runtime.start(wanted);
      assert.equal((await reaches(runtime, "exited")).exit?.code, 7);
    } finally {
      await end(runtime);
    }
  });
});

test("a half-made root goes with the next stop, also when no container was started", async () => {
  await startAndDie(config("exit 0"), "standalone/runtime/root-layer-mounted");
  assert.match(await readFile("/proc/self/mountinfo", "utf8"), new RegExp(stateDir));
  await end(await createProcessRuntime({ stateDir, logger: silentLogger }));
});

/** As if the monitor of a running container had not written anything yet, and no record had its process. */
async function forgetStatus() {
  const files = containerFiles(join(stateDir, "runtime/containers/uid_main_0"), "");
  const status = await readFile(files.status);
  const init = await identify((await readStatus(files)).init ?? 0);
  assert.ok(init, "the container runs");
  await truncate(files.status);
  const {
    init: _init,
    startedAt: _startedAt,
    ...record
  } = JSON.parse(await readFile(join(files.folder, "record.json"), "utf8"));
  await writeRecord(files, record);
  return { id: record.id as string, init, restoreStatus: () => appendFile(files.status, status) };
}

killEveryFailpoint(["volume-mapped", "recorded", "launched"], { everyday: 1 }, (failpoint) => {
  test(`what is mounted for a container's own users is gone with it after a kill at ${failpoint}`, async () => {
    const volume = join(stateDir, "volume");
    await mkdir(volume);
    const wanted = {
      ...config("echo x >/mnt/file; exit 7"),
      users: { first: 1024 * 65_536, size: 65_536 },
      mounts: [{ source: volume, target: "/mnt", readOnly: false }],
    };
    await startAndDie(wanted, `standalone/runtime/${failpoint}`);
    const runtime = await createProcessRuntime({ stateDir, logger: silentLogger });
    try {
      await runtime.start(wanted);
      assert.equal((await reaches(runtime, "exited")).exit?.code, 7);
      assert.equal((await stat(join(volume, "file"))).uid, 0);
    } finally {
      await end(runtime);
    }
    const mounts = await readFile("/proc/self/mountinfo", "utf8");
    assert.doesNotMatch(mounts, new RegExp(`/run/mooring/${cgroupName(stateDir)}/`));
  });
});

const isThere = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );

/** How many files and folders this process watches. */
async function watches(): Promise<number> {
  const names = await readdir("/proc/self/fdinfo");
  // A descriptor may be closed meanwhile.
  const read = names.map((name) => readFile(`/proc/self/fdinfo/${name}`, "utf8").catch(() => ""));
  return (await Promise.all(read)).join("").match(/^inotify wd:/gm)?.length ?? 0;
}

test("a container that ends before its start is over has run once, and nothing of it is read any more", async () => {
  const volume = join(stateDir, "volume");
  await mkdir(volume);
  const wanted = {
    ...config("echo x >>/mnt/file; exit 7"),
    users: { first: 1024 * 65_536, size: 65_536 },
    mounts: [{ source: volume, target: "/mnt", readOnly: false }],
  };
  const host = createHost();
  let asked = false;
  const unmount = async (path: string) => {
    await host.mounts.unmount(path);
    if (asked) return;
    asked = true;
    await eventually("the program to have run", () => isThere(join(volume, "file")));
    // Its end needs a moment to be seen. Whoever looks for it already takes this folder away.
    for (let round = 0; round < 100 && (await isThere(path)); round += 1) await setTimeout(10);
  };
  const slow = { ...host, mounts: { ...host.mounts, unmount } };
  const before = await watches();
  const runtime = await createProcessRuntime({ stateDir, logger: silentLogger, host: slow });
  try {
    await runtime.start(wanted);
    assert.equal((await reaches(runtime, "exited")).exit?.code, 7);
    assert.equal(await readFile(join(volume, "file"), "utf8"), "x\n");
    await eventually("its folder not to be watched any more", async () => (await watches()) === before);
  } finally {
    await end(runtime);
  }
});

test("a container whose sandbox was still being made when its starter was killed comes to run", async () => {
  await startAndDie(config("exec sleep 1000"));
  const { id, init, restoreStatus } = await forgetStatus();
  const runtime = await createProcessRuntime({ stateDir, logger: silentLogger });
  try {
    assert.equal(runtime.get(id)?.state, "created");
    await restoreStatus();
    assert.equal((await reaches(runtime, "running")).pid, init.pid);
  } finally {
    await end(runtime);
  }
});

test("a stop of a container whose start is under way waits for that, and then stops it like any other", async () => {
  const volume = join(stateDir, "volume");
  await mkdir(volume);
  await startAndDie({
    ...config("trap 'exit 7' TERM; echo x >/mnt/file; while :; do sleep 0.1; done"),
    mounts: [{ source: volume, target: "/mnt", readOnly: false }],
  });
  const { id, restoreStatus } = await forgetStatus();
  // runc's own init catches SIGTERM as well, and ends with 2: the program itself says that it has come so far.
  await eventually("the program to catch SIGTERM", () => isThere(join(volume, "file")));
  const runtime = await createProcessRuntime({ stateDir, logger: silentLogger });
  try {
    const stopped = runtime.stop(id, { graceMs: 60_000 });
    await restoreStatus();
    await stopped;
    assert.equal(runtime.get(id)?.exit?.code, 7);
  } finally {
    await end(runtime);
  }
});

test(
  "when what starts containers is killed, those that run are seen to their end, and others start",
  thorough(),
  async () => {
    const runtime = await createProcessRuntime({ stateDir, logger: silentLogger });
    try {
      await runtime.start(config("sleep 1; exit 3"));
      await runtime.start({ ...config("exec sleep 1000"), id: "uid_other_0", name: "other" });
      // Their monitors have groups of their own, and have become nobody's children.
      const [pid, ...others] = execFileSync("pgrep", ["--parent", String(process.pid), "perl"])
        .toString()
        .split("\n");
      assert.deepEqual(others, [""]);
      process.kill(Number(pid), "SIGKILL");
      assert.equal((await reaches(runtime, "exited")).exit?.code, 3);
      assert.equal(runtime.get("uid_other_0")?.state, "running");
      await runtime.stop("uid_other_0", { graceMs: 0 });
      assert.equal(runtime.get("uid_other_0")?.exit?.code, 137);
      await runtime.start({ ...config("exit 7"), id: "uid_third_0", name: "third" });
      await eventually("the third's end", async () => runtime.get("uid_third_0")?.exit?.code === 7);
    } finally {
      await end(runtime);
    }
  },
);

test("a launcher that comes to it only after its start was given up does nothing", async () => {
  const files = containerFiles(join(stateDir, "container"), join(stateDir, "bundle"));
  const cgroup = join(stateDir, "cgroup");
  for (const folder of [files.folder, files.bundle, cgroup]) await mkdir(folder);
  const root = join(stateDir, "runc");
  // Opening a pipe waits for its other end: the launcher stands still before its first step.
  const gate = join(cgroup, "cgroup.procs");
  execFileSync("mkfifo", [gate]);
  const late = { id: "late", files, cgroup: { monitor: cgroup }, root, logFile: join(stateDir, "log") };
  const launcher = new Launcher();
  const monitor = await (await prepareLaunch(launcher, late)).begin();
  assert.ok(monitor.identity);
  await rm(files.status);
  const again = spawn("/bin/sh", ["-c", 'true >"$0"; cat "$1"', files.status, gate], { stdio: "ignore" });
  await once(again, "exit");
  for (const deadline = Date.now() + 60_000; await isAlive(monitor.identity); await setTimeout(20))
    assert.ok(Date.now() < deadline, "the monitor of a start that was given up goes on");
  await assert.rejects(readFile(files.pid), { code: "ENOENT" });
  await launcher.close();
  assert.equal(monitor.state, "ended");
});
