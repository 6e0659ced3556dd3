import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { eventually, thorough } from "@mooring/store/testing";
import { Kubectl } from "../support/kubectl.ts";
import { claim, pod } from "../support/manifests.ts";
import { mooring } from "../support/mooring.ts";
import { nothingRemains } from "../support/remains.ts";
import { SmallDisk } from "../support/small-disk.ts";
import { Up } from "../support/up.ts";

const configMap = JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "refused" } });

/** Two pods with one volume, which has a record of both, and one with a volume of its own. */
const PODS = { first: "shared", second: "shared", alone: "own" };

async function runPods(kubectl: Kubectl): Promise<void> {
  for (const name of ["shared", "own"])
    await kubectl.apply(JSON.stringify(claim("default", name, { size: "16Mi" })));
  for (const [name, volume] of Object.entries(PODS))
    await kubectl.apply(
      JSON.stringify(
        pod("default", name, "exec sleep infinity", { mounts: { "/data": volume }, restartPolicy: "Always" }),
      ),
    );
  const names = Object.keys(PODS).map((name) => `pod/${name}`);
  await kubectl.run("wait", "--for=condition=Ready", ...names, "--timeout=120s");
}

/** A start that is refused; `file` is what it names. */
async function isRefused({ stateDir }: Up, file: string): Promise<void> {
  const args = ["--state-dir", stateDir, "--pool", "xfs", "--listen", "127.0.0.1:0", "--node-name", "node-a"];
  const { code, stderr } = await mooring("up", ...args);
  assert.equal(code, 2, stderr);
  assert.match(stderr, new RegExp(`^error: ${stateDir}/${file} cannot be written: its disk is full`, "m"));
  assert.match(stderr, /^next: make room on that disk \(df -h/m);
  await nothingRemains(stateDir);
}

for (const kind of ["ext4", "btrfs"] as const)
  test(
    `a disk (${kind}) without a free block: a stop releases everything, a start names the file, and with room all goes on`,
    thorough(),
    async (t) => {
      const disk = await SmallDisk.create(1200, kind);
      const stateDir = join(disk.folder, "state");
      await mkdir(stateDir);
      const up = await Up.create({ stateDir, pool: "xfs", poolSize: "600Mi" });
      t.after(async () => {
        await disk.makeRoom();
        await up.dispose();
        await disk.dispose();
      });
      await up.start();
      const kubectl = new Kubectl(up.kubeconfig);
      await runPods(kubectl);
      await kubectl.run("exec", "alone", "--", "sh", "-c", "echo kept >/data/word; sync");

      await disk.fillUp();
      const refused = await kubectl.feed(configMap, "create");
      assert.match(
        refused.stderr,
        /\(InsufficientStorage\): .*no space left on the disk of .*make room there/,
      );
      // The pool finds out by itself that its disk is full; from then on the pod is not well.
      for (const args of [["status"], ["why", "pod/alone"]])
        await eventually(`${args.join(" ")} to name the disk`, async () => {
          const { stdout } = await mooring(...args, "--kubeconfig", up.kubeconfig);
          return stdout.includes("no space left on the disk of");
        });
      const doctor = await mooring("doctor", "--state-dir", stateDir);
      assert.match(doctor.stdout, /disk of \S+ +fail/);

      await disk.fillUp();
      assert.equal(await up.end("SIGTERM"), 0);
      assert.match(up.output, /^warning: stopped, but the disk of .* is full/m);
      await nothingRemains(stateDir);

      await disk.fillUp();
      await isRefused(up, "store/owner");

      await disk.makeRoom();
      await up.start();
      const names = Object.keys(PODS).map((name) => `pod/${name}`);
      await kubectl.run("wait", "--for=condition=Ready", ...names, "--timeout=120s");
      assert.equal(await kubectl.run("exec", "alone", "--", "cat", "/data/word"), "kept\n");
      await kubectl.feed(configMap, "create");
      assert.equal(await up.end("SIGTERM"), 0);
      await nothingRemains(stateDir);
    },
  );
