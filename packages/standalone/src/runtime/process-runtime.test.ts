import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { createHost } from "@mooring/engine";
import { silentLogger } from "@mooring/store";
import { bundleProgram, eventually, everyday, howMany, thorough } from "@mooring/store/testing";
import { cgroupName, openCgroups } from "./cgroups.ts";
import { containerFiles, writeRecord } from "./container-files.ts";
import { readStamps, timeOf } from "./log-stamps.ts";
import { identify } from "./process-identity.ts";
import { createProcessRuntime } from "./process-runtime.ts";
import { RUNC } from "./runc.ts";
import type { ContainerConfig, ContainerStatus, Runtime } from "./runtime.ts";

let stateDir: string;
let runtime: Runtime;

before(async () => {
  stateDir = await mkdtemp("/tmp/mooring-runtime-");
  runtime = await createProcessRuntime({ stateDir, logger: silentLogger });
});

after(async () => {
  for (const { id } of runtime.list()) {
    await runtime.stop(id, { graceMs: 0 });
    await runtime.remove(id);
  }
  for (const pod of await runtime.podsOnDisk()) await runtime.removePod(pod);
  await runtime.close();
  assert.doesNotMatch(await readFile("/proc/self/mountinfo", "utf8"), new RegExp(stateDir));
  await rm(stateDir, { recursive: true });
});

let serial = 0;
function config(script: string, more: Partial<ContainerConfig> = {}): ContainerConfig {
  serial += 1;
  return {
    id: `c${serial}`,
    pod: { uid: `uid-${serial}`, namespace: "default", name: `pod-${serial}` },
    name: "main",
    attempt: 0,
    argv: ["sh", "-c", script],
    env: { PATH: "/usr/bin:/bin" },
    hostname: `pod-${serial}`,
    user: { uid: 0, gid: 0, groups: [] },
    capabilities: ["CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL"],
    mounts: [],
    devices: [],
    ...more,
  };
}

async function finished(of: Runtime, id: string): Promise<ContainerStatus> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const status = of.get(id);
    if (status?.state === "exited") return status;
    if (Date.now() > deadline) throw new Error(`container ${id} did not end: ${JSON.stringify(status)}`);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, 200);
      const stop = of.onChange(() => {
        clearTimeout(timer);
        stop();
        resolve();
      });
    });
  }
}

async function logOf(status: ContainerStatus, options = {}, of = runtime): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of of.logs(status, options)) parts.push(part);
  return Buffer.concat(parts).toString();
}

async function runToEnd(wanted: ContainerConfig): Promise<{ status: ContainerStatus; log: string }> {
  await runtime.start(wanted);
  const status = await finished(runtime, wanted.id);
  return { status, log: await logOf(status) };
}

test(
  "a container sees the machine read-only, its own processes, host name and environment, and no state folder",
  everyday(),
  async () => {
    await writeFile(join(stateDir, "secret"), "x");
    const { status, log } = await runToEnd(
      config(
        `hostname; echo "$GREETING"; echo $$; touch /etc/x 2>&1; touch /tmp/ok && echo tmp; cat ${stateDir}/secret 2>&1; exit 7`,
        {
          env: { PATH: "/usr/bin:/bin", GREETING: "hello $world\nsecond" },
        },
      ),
    );
    assert.equal(status.exit?.code, 7);
    assert.equal(status.exit?.reason, "Error");
    const [hostname, greeting, second, pid, touch, tmp, secret] = log.split("\n");
    assert.deepEqual(
      [hostname, greeting, second, pid, tmp],
      [`pod-${serial}`, "hello $world", "second", "1", "tmp"],
    );
    assert.match(touch ?? "", /Read-only file system/);
    assert.match(secret ?? "", /No such file/);
  },
);

test(
  "volumes are at their paths, made where the machine has nothing, read-only when asked",
  everyday(),
  async () => {
    const volume = join(stateDir, "volume");
    await mkdir(volume);
    await writeFile(join(volume, "file"), "content");
    const { log, status } = await runToEnd(
      config(
        "cat /data/file /deep/er/file /etc/one.conf; touch /data/new && echo w; touch /deep/er/x || echo ro; touch /var/run/v/z && ls /run/v",
        {
          mounts: [
            { source: volume, target: "/data", readOnly: false },
            { source: volume, target: "/deep/er", readOnly: true },
            { source: join(volume, "file"), target: "/etc/one.conf", readOnly: true },
            { source: volume, target: "/var/run/v", readOnly: false },
          ],
        },
      ),
    );
    assert.equal(status.exit?.code, 0, log);
    assert.match(log, /^contentcontentcontentw\n.*\nro\nfile\nnew\nz\n$/s);
  },
);

test(
  "a container runs as its user and groups, and root in it lacks what it was not given",
  everyday(),
  async () => {
    const user = await runToEnd(
      config("id -u; id -g; id -G", { user: { uid: 1234, gid: 77, groups: [5, 6] } }),
    );
    assert.equal(user.log, "1234\n77\n77 5 6\n");
    const root = await runToEnd(
      config("mount -o remount,rw / 2>&1; mount -t tmpfs none /mnt 2>&1; echo done"),
    );
    assert.match(root.log, /permission denied|must be superuser|not permitted/i);
    assert.match(root.log, /done/);
  },
);

test("a program that does not exist is a StartError that names it", everyday(), async () => {
  const { status } = await runToEnd(config("", { argv: ["no-such-program"] }));
  assert.equal(status.exit?.code, 128);
  assert.equal(status.exit?.reason, "StartError");
  assert.match(status.exit?.message ?? "", /no-such-program/);
});

test(
  "stop sends SIGTERM first, then kills everything that is left, also what was put into the background",
  everyday(),
  async () => {
    const polite = config("trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done");
    await runtime.start(polite);
    await logLine(polite, "up");
    await runtime.stop(polite.id, { graceMs: 10_000 });
    assert.equal(runtime.get(polite.id)?.exit?.code, 0);

    const stubborn = config("trap '' TERM; (setsid sleep 1000 &) ; echo up; while :; do sleep 0.05; done");
    await runtime.start(stubborn);
    await logLine(stubborn, "up");
    const init = runtime.get(stubborn.id)?.pid;
    await runtime.stop(stubborn.id, { graceMs: 100 });
    assert.equal(runtime.get(stubborn.id)?.exit?.code, 137);
    assert.equal(await identify(init ?? 0), undefined);
  },
);

test("a signal's exit code is 128 + n", everyday(), async () => {
  const { status } = await runToEnd(config("sh -c 'kill -TERM $$'; exit $?"));
  assert.equal(status.exit?.code, 143);
});

test(
  "what a program left in the background ends with it, however fast the program was",
  everyday(),
  async () => {
    const fast = Array.from({ length: howMany({ everyday: 6, full: 30 }) }, () =>
      config("(setsid sleep 1000 >/dev/null 2>&1 &); exit 0"),
    );
    for (const { status } of await Promise.all(fast.map(runToEnd))) {
      assert.equal(status.exit?.code, 0);
      assert.equal(await identify(status.pid ?? 0), undefined);
    }
  },
);

test("exec runs in the container, as its user, with its environment", everyday(), async () => {
  const wanted = config("sleep 1000", {
    env: { PATH: "/usr/bin:/bin", A: "b" },
    user: { uid: 99, gid: 99, groups: [] },
  });
  await runtime.start(wanted);
  const result = await runtime.exec(wanted.id, ["sh", "-c", "id -u; hostname; echo $A; exit 4"], {
    timeoutMs: 60_000,
  });
  assert.deepEqual(result, { exitCode: 4, output: `99\npod-${serial}\nb\n`, timedOut: false });
  const slow = await runtime.exec(wanted.id, ["sleep", "100"], { timeoutMs: 50 });
  assert.equal(slow.timedOut, true);
  await runtime.stop(wanted.id, { graceMs: 0 });
});

test("a container goes also after runc was killed while it began a program in it", everyday(), async () => {
  const wanted = config("sleep 1000");
  await runtime.start(wanted);
  // What a `runc exec` leaves that is killed in the moment after this mount.
  const notes = join("/run/mooring", cgroupName(stateDir), "runc", wanted.id);
  const own = join(notes, "runc.Uzy87O");
  await writeFile(own, "");
  await createHost().mounts.bind(RUNC, own, { readOnly: true });
  await runtime.stop(wanted.id, { graceMs: 0 });
  assert.equal(runtime.get(wanted.id)?.state, "exited");
  assert.equal(existsSync(notes), false);
  assert.doesNotMatch(await readFile("/proc/self/mountinfo", "utf8"), /runc\.Uzy87O/);
});

test("logs: tail, limit, times, since and follow", everyday(), async () => {
  const wanted = config(
    "echo one; echo two; while [ ! -e /data/three ]; do sleep 0.02; done; echo three; printf rest",
    { mounts: [{ source: stateDir, target: "/data", readOnly: true }] },
  );
  await runtime.start(wanted);
  const following = logOf(runtime.get(wanted.id) ?? assert.fail(), { follow: true });
  // Lines that nobody reads in between get one time.
  const twoAt = await timeOfFirst(wanted, "one\ntwo\n".length);
  await delay(Math.max(0, twoAt + 300 - Date.now()));
  await writeFile(join(stateDir, "three"), "");
  assert.equal(await following, "one\ntwo\nthree\nrest");
  const status = await finished(runtime, wanted.id);
  assert.equal(await logOf(status, { tailLines: 2 }), "three\nrest");
  assert.equal(await logOf(status, { limitBytes: 5 }), "one\nt");
  const stamped = (await logOf(status, { timestamps: true })).split("\n");
  const times = stamped.map((line) => Date.parse(line.split(" ")[0] ?? ""));
  assert.deepEqual(
    stamped.map((line) => line.split(" ")[1]),
    ["one", "two", "three", "rest"],
  );
  assert.ok((times[2] ?? 0) - (times[1] ?? 0) >= 200, stamped.join("|"));
  const since = new Date((times[2] ?? 0) - 100).toISOString();
  assert.equal(await logOf(status, { sinceTime: since }), "three\nrest");
});

test(
  "what is installed on the machine while containers run is there for the next one",
  thorough(),
  async () => {
    const path = `/var/tmp/${stateDir.split("/").at(-1)}`;
    assert.equal((await runToEnd(config(`cat ${path}`))).status.exit?.code, 1);
    await writeFile(path, "installed\n");
    try {
      const deadline = Date.now() + 60_000;
      while ((await runToEnd(config(`cat ${path}`))).log !== "installed\n") assert.ok(Date.now() < deadline);
    } finally {
      await rm(path);
    }
  },
);

test("the termination message of a container is kept with its exit", everyday(), async () => {
  const message = { path: "/dev/termination-log", fromLog: false };
  const ended = await runToEnd(
    config("echo 'disk full' > /dev/termination-log; exit 4", { terminationMessage: message }),
  );
  assert.equal(ended.status.exit?.message, "disk full\n");
  const logged = await runToEnd(
    config("echo first; echo last; exit 4", { terminationMessage: { ...message, fromLog: true } }),
  );
  assert.equal(logged.status.exit?.message, "first\nlast\n");
});

test(
  "a log that grows without end keeps its newest half, whole lines, and takes no more of the disk",
  thorough(),
  async () => {
    const wanted = config(
      "i=0; while [ $i -lt 100 ]; do i=$((i+1)); yes $i | head -c 1000000; echo; done; echo end",
    );
    await runtime.start(wanted);
    const status = await finished(runtime, wanted.id);
    const { size, blocks } = await stat(logFileOf(wanted));
    assert.ok(size > 100_000_000 && blocks * 512 < 80_000_000, `${size} ${blocks * 512}`);
    const log = await logOf(status);
    assert.ok(log.length >= 30_000_000 && log.length < 80_000_000, `${log.length}`);
    assert.ok(!log.includes("\0"));
    assert.ok(log.endsWith("\nend\n"));
  },
);

test(
  "after a restart of the machine a container that ran counts as lost, and no process is touched",
  everyday(),
  async () => {
    const folder = join(stateDir, "rebooted");
    const wanted = config("sleep 1000");
    const bystander = spawn("sleep", ["1000"], { stdio: "ignore" });
    const files = containerFiles(join(folder, "runtime/containers", wanted.id), "");
    await writeRecord(files, {
      ...{ id: wanted.id, pod: wanted.pod, name: wanted.name, attempt: 0 },
      createdAt: new Date().toISOString(),
      bootID: "another boot",
      init: (await identify(bystander.pid ?? 0)) ?? assert.fail(),
    });
    const next = await createProcessRuntime({ stateDir: folder, logger: silentLogger });
    try {
      assert.equal((await finished(next, wanted.id)).exit?.reason, "ContainerStatusUnknown");
      assert.notEqual(await identify(bystander.pid ?? 0), undefined);
    } finally {
      bystander.kill("SIGKILL");
      await next.close();
    }
  },
);

test(
  "a frozen pod stands still while another one works, and goes on when it is thawed",
  everyday(),
  async () => {
    // Written by the container itself: its log comes through a process that is not frozen.
    const worker = (file: string) =>
      config(`while :; do echo x >> /data/${file}; sleep 0.01; done`, {
        mounts: [{ source: stateDir, target: "/data", readOnly: false }],
      });
    const size = async (file: string) => (await stat(join(stateDir, file)).catch(() => undefined))?.size ?? 0;
    const grows = async (file: string, by: number) => {
      const before = await size(file);
      await eventually(`${by} bytes more of ${file}`, async () => (await size(file)) >= before + by);
    };
    const [frozen, other] = [worker("frozen"), worker("unfrozen")];
    for (const each of [frozen, other]) await runtime.start(each);
    await grows("frozen", 2);
    await grows("unfrozen", 2);
    const thaw = await runtime.freeze(frozen.pod.uid);
    const before = await size("frozen");
    await grows("unfrozen", 40);
    assert.equal(await size("frozen"), before);
    await thaw();
    await grows("frozen", 2);
    for (const { id } of [frozen, other]) await runtime.stop(id, { graceMs: 1000 });
  },
);

test(
  "a container that a killed life has stopped for its log goes on in the next one",
  thorough(),
  async () => {
    const folder = join(stateDir, "stopped");
    const wanted = config("while :; do echo x; sleep 0.01; done");
    const first = await createProcessRuntime({ stateDir: folder, logger: silentLogger });
    await first.start(wanted);
    await first.close();
    const cgroups = await openCgroups(folder);
    await cgroups.whileStill(wanted.pod.uid, wanted.id, async () => {
      const next = await createProcessRuntime({ stateDir: folder, logger: silentLogger });
      const length = async () => (await logOf(next.get(wanted.id) ?? assert.fail(), {}, next)).length;
      const before = await length();
      await eventually("more of its log", async () => (await length()) > before);
      await next.stop(wanted.id, { graceMs: 0 });
      await next.remove(wanted.id);
      await next.removePod(wanted.pod);
      await next.close();
    });
  },
);

test(
  "containers survive kill -9 of the process that started them and are taken over, running or ended",
  everyday(),
  async () => {
    const running = config("echo first; while [ ! -e /data/go ]; do sleep 0.02; done; echo second; exit 5", {
      mounts: [{ source: stateDir, target: "/data", readOnly: false }],
    });
    const short = config("echo short; exit 3");
    const starter = await bundleProgram(new URL("testing/start-containers.ts", import.meta.url));
    const child = spawn(process.execPath, [starter.path], {
      stdio: ["pipe", "pipe", "inherit"],
      env: { ...process.env, STATE_DIR: join(stateDir, "other") },
    });
    child.stdin.end(JSON.stringify([running, short]));
    await outputOf(child, "started");
    child.kill("SIGKILL");
    await new Promise((resolve) => child.once("exit", resolve));
    await starter.remove();

    const next = await createProcessRuntime({ stateDir: join(stateDir, "other"), logger: silentLogger });
    try {
      assert.equal((await finished(next, short.id)).exit?.code, 3);
      const adopted = next.get(running.id);
      assert.equal(adopted?.state, "running");
      assert.equal((await next.start(running)).pid, adopted?.pid);
      await writeFile(join(stateDir, "go"), "");
      const ended = await finished(next, running.id);
      assert.equal(ended.exit?.code, 5);
      assert.equal(await logOf(ended, {}, next), "first\nsecond\n");
    } finally {
      for (const { id, pod } of next.list()) {
        await next.stop(id, { graceMs: 0 });
        await next.remove(id);
        await next.removePod(pod);
      }
      await next.close();
    }
  },
);

function logFileOf({ pod }: ContainerConfig): string {
  return join(stateDir, "logs/pods", `default_${pod.name}_${pod.uid}`, "main/0.log");
}

/** When the first bytes of the log were there, once that is noted. */
async function timeOfFirst(wanted: ContainerConfig, bytes: number): Promise<number> {
  for (const deadline = Date.now() + 60_000; ; await delay(20)) {
    const time = timeOf(await readStamps(logFileOf(wanted)), bytes);
    if (time !== undefined) return time;
    assert.ok(Date.now() < deadline, "nobody noted the time");
  }
}

async function logLine(wanted: ContainerConfig, text: string): Promise<void> {
  for await (const part of runtime.logs(wanted, { follow: true, signal: AbortSignal.timeout(60_000) })) {
    if (Buffer.from(part).toString().includes(text)) return;
  }
  assert.fail(`the log never had ${text}`);
}

async function outputOf(child: ChildProcess, text: string): Promise<void> {
  for await (const chunk of child.stdout ?? []) if (String(chunk).includes(text)) return;
}
