import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Pools } from "@mooring/engine";
import { eventually, thorough } from "@mooring/store/testing";
import { claim, pod } from "../support/manifests.ts";
import { mooring } from "../support/mooring.ts";
import { SmallDisk } from "../support/small-disk.ts";
import { Nodes } from "./support/world.ts";

const LATE_CLASS = {
  apiVersion: "storage.k8s.io/v1",
  kind: "StorageClass",
  metadata: { name: "late" },
  provisioner: "csi.mooring.dev",
  volumeBindingMode: "WaitForFirstConsumer",
};

function onA(name: string, mounts: Record<string, string>): string {
  const plain = pod("default", name, "exec sleep infinity", { mounts, restartPolicy: "Always" });
  return JSON.stringify({
    ...plain,
    spec: { ...plain.spec, nodeSelector: { "kubernetes.io/hostname": "a" } },
  });
}

test(
  "a joined machine whose own disk is full says that it is the disk, stops, does not start half, and heals",
  thorough(),
  async (t) => {
    const disk = await SmallDisk.create(1200);
    const nodes = await Nodes.create({ nodes: [] });
    t.after(async () => {
      await disk.makeRoom();
      await nodes.dispose();
      await disk.dispose();
    });
    const stateDir = join(disk.folder, "state");
    await mkdir(stateDir);
    const machine = await nodes.add("a", ["--pool", "xfs", "--pool-size", "600Mi"], stateDir);
    const { kubectl } = nodes;
    await kubectl.apply(JSON.stringify(LATE_CLASS));
    await kubectl.apply(JSON.stringify(claim("default", "data", { size: "32Mi", className: "late" })));
    await kubectl.apply(onA("early", { "/data": "data" }));
    await kubectl.run("wait", "--for=condition=Ready", "pod/early", "--timeout=120s");
    await kubectl.run("exec", "early", "--", "sh", "-c", "echo kept >/data/word; sync");

    await disk.fillUp();
    const about = ["--kubeconfig", nodes.up.kubeconfig];
    const said = new RegExp(`the disk of ${stateDir}/pools/default-a, below the pool, is full: writes`);
    const next = new RegExp(
      `^next: .*make room on that disk of node a: df -h ${stateDir}/pools/default-a`,
      "m",
    );
    for (const args of [["status"], ["why", "pod/early"], ["why", "pool/default-a"], ["doctor"]])
      await eventually(`${args.join(" ")} to name the disk`, async () => {
        const { code, stdout } = await mooring(...args, ...about);
        return code === 1 && said.test(stdout) && next.test(stdout);
      });
    assert.equal(await kubectl.run("exec", "early", "--", "cat", "/data/word"), "kept\n");
    const taints = ["get", "node", "a", "-o", "jsonpath={.spec.taints[*].key}"];
    await eventually("its taint", async () => (await kubectl.run(...taints)).includes("disk-pressure"));
    await kubectl.apply(onA("late", {}));
    await eventually("no further pod to go there", async () =>
      /untolerated taint.*disk-pressure/.test(await kubectl.run("describe", "pod/late")),
    );

    await disk.fillUp();
    await machine.stop();
    assert.match(machine.output, /^warning: stopped, but the disk of .* is full/m);
    await disk.fillUp();
    await assert.rejects(machine.start(), /mooring node ended early/);
    assert.match(
      machine.output,
      /^error: \S+\/ready cannot be written: its disk is full \(ENOSPC\)\nnext: make room/m,
    );

    await disk.makeRoom();
    await machine.start();
    await kubectl.run("wait", "--for=condition=Ready", "pod/early", "pod/late", "--timeout=120s");
    assert.equal(await kubectl.run("exec", "early", "--", "cat", "/data/word"), "kept\n");
    const store = await nodes.store();
    await eventually("the pool to have room", async () => {
      const { status } = await store.get(Pools, { name: "default-a" });
      return (
        status?.conditions?.every(({ type, status: is }) => type === "Ready" || is === "False") || undefined
      );
    });
    await kubectl.run("delete", "pod/early", "pod/late", "pvc/data", "--timeout=120s");
  },
);
