import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { defined, failpointNames, type Pod } from "@mooring/store";
import { bundleProgram, killEveryFailpoint, thorough } from "@mooring/store/testing";
import { openCgroups } from "../runtime/cgroups.ts";
import {
  assertNothingLeft,
  eventually,
  logOf,
  Pods,
  startTestCluster,
  type TestCluster,
} from "./testing/test-cluster.ts";

const OURS =
  /^standalone\/(?:binder|ephemeral-volumes|pvc?-protection|scheduler|attach-detach|kubelet|runtime|images)\//;

/** The kills of runtime/interrupted-start.test.ts: its containers have users of their own. */
const KILLED_ELSEWHERE = "standalone/runtime/volume-mapped";

function runScenario(
  folder: string,
  failpoint?: string,
): Promise<{ signal: string | null; code: number | null; output: string; passed: string }> {
  const child = spawn(process.execPath, ["--enable-source-maps", program.path, folder], {
    env: { ...process.env, ...defined({ MOORING_FAILPOINT: failpoint }) },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 120_000,
    killSignal: "SIGKILL",
  });
  let [output, passed] = ["", ""];
  child.stdout.on("data", (chunk) => {
    passed += chunk;
  });
  child.stderr.on("data", (chunk) => {
    output += chunk;
  });
  return new Promise((resolve) =>
    child.once("close", (code, signal) => resolve({ code, signal, output, passed })),
  );
}

const failpoints = failpointNames().filter((name) => OURS.test(name) && name !== KILLED_ELSEWHERE);

assert.ok(failpoints.length > 20, `these cannot be all failpoints: ${failpoints.join(", ")}`);

const program = await bundleProgram(join(import.meta.dirname, "testing/scenario.ts"));
after(() => program.remove());

test("a life that nobody kills passes every failpoint", thorough(), async () => {
  const folder = await mkdtemp("/tmp/mooring-crash-");
  try {
    const { code, output, passed } = await runScenario(folder);
    assert.equal(code, 0, output);
    const all = new Set(JSON.parse(passed) as string[]);
    assert.deepEqual(
      failpoints.filter((name) => !all.has(name)),
      [],
    );
  } finally {
    await cleanUp(folder);
  }
});

killEveryFailpoint(failpoints, { everyday: 1, full: 6 }, (failpoint) => {
  test(`killed right after ${failpoint}, the next start finishes the work and leaves nothing`, async () => {
    const folder = await mkdtemp("/tmp/mooring-crash-");
    try {
      const first = await runScenario(folder, failpoint);
      assert.equal(first.signal, "SIGKILL", `the failpoint was not passed: ${first.output}`);
      const second = await runScenario(folder);
      assert.equal(second.code, 0, second.output);
      await assertNothingLeft(folder);
      assert.deepEqual(await readdir(join(folder, "driver/volumes")), []);
      assert.deepEqual(await readdir(join(folder, "driver/attached")), []);
      assert.doesNotMatch(await processList(), new RegExp(folder));
    } finally {
      await cleanUp(folder);
    }
  });
});

test(
  "killed while a pod runs: its process goes on and is taken over, with its volume, restarts and log as they were",
  thorough(),
  async () => {
    let cluster: TestCluster | undefined;
    const program = await bundleProgram(join(import.meta.dirname, "testing/run-until-killed.ts"));
    const folder = await mkdtemp("/tmp/mooring-crash-");
    try {
      const child = spawn(process.execPath, [program.path, folder], { stdio: ["ignore", "pipe", "inherit"] });
      for await (const chunk of child.stdout) if (String(chunk).includes("running")) break;
      child.kill("SIGKILL");
      await once(child, "exit");
      const count = async () => {
        const [volume = ""] = await readdir(join(folder, "driver/volumes"));
        return Number(await readFile(join(folder, "driver/volumes", volume, "count"), "utf8"));
      };
      const before = await count();
      cluster = await startTestCluster(folder);
      const running = (object: Pod | undefined) =>
        object?.status?.containerStatuses?.[0]?.state?.running !== undefined;
      const pod = await eventually(cluster.store, Pods, "app", running);
      assert.equal(pod?.status?.containerStatuses?.[0]?.restartCount, 0);
      assert.equal(await logOf(cluster, "app"), "up\n");
      assert.ok((await count()) > before, "it went on counting all the time");
      await cluster.store.delete(Pods, { namespace: "default", name: "app" });
      await eventually(cluster.store, Pods, "app", (object) => object === undefined);
      await cluster.stop();
      cluster = undefined;
      await assertNothingLeft(folder);
    } finally {
      await cluster?.stop();
      await program.remove();
      await cleanUp(folder);
    }
  },
);

async function processList(): Promise<string> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const lines = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")),
  );
  return lines.join("\n");
}

/** After a failure: whatever the test left, by its own folder. */
async function cleanUp(folder: string): Promise<void> {
  const cgroups = await openCgroups(join(folder, "kubelet"));
  for (const pod of await cgroups.pods()) {
    await cgroups.kill(pod);
    await cgroups.remove(pod);
  }
  await cgroups.close();
  for (;;) {
    const info = await readFile("/proc/self/mountinfo", "utf8");
    const target = info
      .split("\n")
      .map((line) => line.split(" ")[4] ?? "")
      .filter((each) => each.startsWith(folder))
      .at(-1);
    if (target === undefined) break;
    await new Promise((resolve) => execFile("umount", ["-l", target], resolve));
  }
  await rm(folder, { recursive: true, force: true });
}
