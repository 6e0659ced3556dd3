import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "@mooring/store/testing";
import { Kubectl } from "../support/kubectl.ts";
import { claim, pod } from "../support/manifests.ts";
import { mooring } from "../support/mooring.ts";
import { nothingRemains } from "../support/remains.ts";
import { Up } from "../support/up.ts";

const SLEEP = "trap exit TERM; while :; do sleep 1; done";

test("what a pod has mounted that an older copy of the state does not know is released, and the process ends", async (t) => {
  const up = await Up.create();
  t.after(() => up.disposeWhole());
  await up.start();
  const kubectl = new Kubectl(up.kubeconfig);
  const copy = join(up.stateDir, "before.mdb");
  const state = (...args: string[]) => mooring("state", ...args, "--state-dir", up.stateDir);
  assert.equal((await state("backup", copy)).code, 0);
  await kubectl.apply(JSON.stringify(claim("default", "data", { size: "32Mi" })));
  await kubectl.apply(JSON.stringify(pod("default", "web", SLEEP, { mounts: { "/data": "data" } })));
  await kubectl.run("wait", "--for=condition=Ready", "pod/web", "--timeout=120s");
  const mounted = async () =>
    (await readFile("/proc/self/mountinfo", "utf8"))
      .split("\n")
      .filter((line) => line.includes(join(up.stateDir, "kubelet/p")));
  assert.notEqual((await mounted()).length, 0);
  await up.end("SIGKILL");
  assert.equal((await state("restore", copy)).code, 0);
  await up.start();
  await eventually("its volume to be unmounted", async () => (await mounted()).length === 0, {
    lastSeen: mounted,
  });
  assert.equal(await up.end("SIGTERM"), 0);
  await nothingRemains(up.stateDir);
});
