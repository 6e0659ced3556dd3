import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { silentLogger } from "@mooring/store";
import { bundleProgram, eventually, everyday, thorough } from "@mooring/store/testing";
import { openCgroups } from "./cgroups.ts";
import { containerFiles, writeRecord } from "./container-files.ts";
import { identify } from "./process-identity.ts";
import { createProcessRuntime } from "./process-runtime.ts";
import { finished, logOf, RuntimeOfFile } from "./testing/runtime-of-file.ts";

const of = RuntimeOfFile.open();

test(
  "after a restart of the machine a container that ran counts as lost, and no process is touched",
  everyday(),
  async () => {
    const folder = join(of.stateDir, "rebooted");
    const wanted = of.config("sleep 1000");
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
  "a container that a killed life has stopped for its log goes on in the next one",
  thorough(),
  async () => {
    const folder = join(of.stateDir, "stopped");
    const wanted = of.config("while :; do echo x; sleep 0.01; done");
    const first = await createProcessRuntime({ stateDir: folder, logger: silentLogger });
    await first.start(wanted);
    await first.close();
    const cgroups = await openCgroups(folder);
    await cgroups.whileStill(wanted.pod.uid, wanted.id, async () => {
      const next = await createProcessRuntime({ stateDir: folder, logger: silentLogger });
      const length = async () => (await logOf(next, next.get(wanted.id) ?? assert.fail())).length;
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
    const running = of.config(
      "echo first; while [ ! -e /data/go ]; do sleep 0.02; done; echo second; exit 5",
      {
        mounts: [{ source: of.stateDir, target: "/data", readOnly: false }],
      },
    );
    const short = of.config("echo short; exit 3");
    const starter = await bundleProgram(new URL("testing/start-containers.ts", import.meta.url));
    const child = spawn(process.execPath, [starter.path], {
      stdio: ["pipe", "pipe", "inherit"],
      env: { ...process.env, STATE_DIR: join(of.stateDir, "other") },
    });
    child.stdin.end(JSON.stringify([running, short]));
    await outputOf(child, "started");
    child.kill("SIGKILL");
    await new Promise((resolve) => child.once("exit", resolve));
    await starter.remove();

    const next = await createProcessRuntime({ stateDir: join(of.stateDir, "other"), logger: silentLogger });
    try {
      assert.equal((await finished(next, short.id)).exit?.code, 3);
      const adopted = next.get(running.id);
      assert.equal(adopted?.state, "running");
      assert.equal((await next.start(running)).pid, adopted?.pid);
      await writeFile(join(of.stateDir, "go"), "");
      const ended = await finished(next, running.id);
      assert.equal(ended.exit?.code, 5);
      assert.equal(await logOf(next, ended), "first\nsecond\n");
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

async function outputOf(child: ChildProcess, text: string): Promise<void> {
  for await (const chunk of child.stdout ?? []) if (String(chunk).includes(text)) return;
}
