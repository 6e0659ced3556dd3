import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { eventually, thorough } from "@mooring/store/testing";
import { Kubectl } from "../support/kubectl.ts";
import { claim, pod, snapshot } from "../support/manifests.ts";
import { mooring } from "../support/mooring.ts";
import { nothingRemains } from "../support/remains.ts";
import { SmallDisk } from "../support/small-disk.ts";
import { Up } from "../support/up.ts";

const SAID = /no inodes left on the disk of \S+: \d+ of \d+ are free/;

/** What an operator reads, wherever that is. `waiting`: what does not go on. */
async function isReported({ stateDir, kubeconfig }: Up, kubectl: Kubectl, waiting: string): Promise<void> {
  const ready = await kubectl.run("get", "--raw", "/readyz").catch((error: Error) => error.message);
  assert.match(ready, /\[-\]state-disk-files failed/);
  const server = ["--kubeconfig", kubeconfig];
  for (const args of [
    ["status", ...server],
    ["why", waiting, ...server],
    ["doctor", "--state-dir", stateDir],
  ]) {
    const { code, stdout } = await mooring(...args);
    assert.equal(code, 1, stdout);
    assert.match(stdout, SAID, args[0]);
    assert.match(stdout, /^next: .*remove files.*df -i/m, args[0]);
  }
  const { stdout } = await mooring("doctor", "--state-dir", stateDir);
  assert.match(stdout, /inodes of \S+ +fail +100 % of its inodes used/);
}

/** What needs no file more goes on; what needs one waits. */
async function isServed(kubectl: Kubectl): Promise<void> {
  await kubectl.apply(JSON.stringify(claim("default", "late", { size: "32Mi" })));
  await kubectl.apply(JSON.stringify(snapshot("default", "waits", "data")));
  await kubectl.run("wait", "--for=jsonpath={.status.phase}=Bound", "pvc/late", "--timeout=60s");
  await kubectl.run("delete", "pvc/late", "--timeout=60s");
  assert.equal(await kubectl.run("exec", "app", "--", "cat", "/data/word"), "kept\n");
}

/** Beside a Mooring that runs: with free bytes, and no place for a file. */
async function commandsNameIt({ stateDir }: Up): Promise<void> {
  for (const command of ["backup", "check"]) {
    const { code, signal, stderr } = await mooring("state", command, "--state-dir", stateDir);
    assert.equal(signal, undefined, `state ${command} ended by a signal`);
    assert.notEqual(code, 0);
    assert.match(stderr, /^error: .*no inodes left/m);
    assert.match(stderr, /^next: .*df -i/m);
  }
}

test(
  "a state disk with free space and no inodes is named as that, takes deletions, stops, starts no half, and goes on",
  thorough(),
  async (t) => {
    const disk = await SmallDisk.create(1200, "ext4", { inodes: 600 });
    const stateDir = join(disk.folder, "state");
    await mkdir(stateDir);
    const up = await Up.create({ stateDir, pool: "xfs", poolSize: "600Mi" });
    t.after(async () => {
      await disk.freeInodes();
      await up.dispose();
      await disk.dispose();
    });
    await up.start();
    const kubectl = new Kubectl(up.kubeconfig);
    await kubectl.apply(JSON.stringify(claim("default", "data", { size: "32Mi" })));
    const app = pod("default", "app", "exec sleep infinity", {
      mounts: { "/data": "data" },
      restartPolicy: "Always",
    });
    await kubectl.apply(JSON.stringify(app));
    await kubectl.run("wait", "--for=condition=Ready", "pod/app", "--timeout=120s");
    await kubectl.run("exec", "app", "--", "sh", "-c", "echo kept >/data/word; sync");

    await disk.takeInodes();
    await isServed(kubectl);
    await disk.takeInodes();
    await isReported(up, kubectl, "volumesnapshot/waits");
    await commandsNameIt(up);

    assert.equal(await up.end("SIGTERM"), 0);
    await nothingRemains(stateDir);
    await disk.takeInodes();
    const args = [
      "--state-dir",
      stateDir,
      "--pool",
      "xfs",
      "--listen",
      "127.0.0.1:0",
      "--node-name",
      "node-a",
    ];
    const { code, stderr } = await mooring("up", ...args);
    assert.equal(code, 2, stderr);
    assert.match(stderr, /^error: .*no inodes left/m);
    assert.match(stderr, /^next: .*df -i/m);
    await nothingRemains(stateDir);

    await disk.freeInodes();
    await up.start();
    await kubectl.run("wait", "--for=condition=Ready", "pod/app", "--timeout=120s");
    await kubectl.run(
      ...["wait", "--for=jsonpath={.status.readyToUse}=true", "volumesnapshot/waits", "--timeout=60s"],
    );
    assert.equal(await kubectl.run("exec", "app", "--", "cat", "/data/word"), "kept\n");
    await eventually("all to be well", async () => {
      const { stdout } = await mooring("status", "--kubeconfig", up.kubeconfig);
      return /^all is well$/m.test(stdout);
    });
    await kubectl.run("delete", "pod/app", "volumesnapshot/waits", "pvc/data", "--timeout=60s");
  },
);
