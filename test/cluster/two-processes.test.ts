import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { connect } from "@mooring/csi";
import { CSINodes, KubeVolumeAttachments, Nodes } from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { cleanUp } from "../../packages/driver/src/testing/world.ts";
import { thorough } from "../../packages/store/src/testing/sample.ts";
import { host } from "../csi/support/driver.ts";
import { MooringProcess, plainEnvironment } from "../csi/support/process.ts";
import { capability } from "../csi/support/volumes.ts";
import { nothingRemains } from "../support/remains.ts";
import { sleepersSocket } from "../support/sleepers.ts";
import { clusterServer } from "./support/cluster-server.ts";
import { kubeletAt } from "./support/kubelet.ts";
import { leftOf } from "./support/left.ts";

const NODE = "worker-1";
const { kubectl, store, accountKubeconfig, stop } = await clusterServer();
const folder = await mkdtemp(join(tmpdir(), "mooring-cluster-"));
const processes: MooringProcess[] = [];
after(async () => {
  for (const each of processes) await each.end("SIGKILL");
  await cleanUp(host, folder);
  await rm(folder, { recursive: true, force: true });
  await stop();
  await nothingRemains(folder);
});
const kubeletDir = join(folder, "kubelet");
await mkdir(kubeletDir);

async function start(account: string, ...args: string[]): Promise<MooringProcess> {
  const readyFile = join(folder, `${account}-ready`);
  await rm(readyFile, { force: true });
  const bound = account === "mooring-node" ? NODE : undefined;
  const kubeconfig = await accountKubeconfig(account, join(folder, account), bound);
  const child = new MooringProcess([...args, "--kubeconfig", kubeconfig, "--ready-file", readyFile], {
    ...plainEnvironment(),
    ...sleepersSocket(join(folder, `${account}.sleepers`)),
  });
  processes.push(child);
  await eventually(`${account} to be ready; it printed ${child.stderr.slice(-3000)}`, async () => {
    assert.ok(child.alive, child.stderr);
    const content = await readFile(readyFile, "utf8").catch(() => "");
    return content !== "" && !content.includes('"leading":false');
  });
  return child;
}

const startController = () =>
  start("mooring-controller", "controller", "--engine", "--leader-election", "--namespace", "mooring");
const startNode = () =>
  start(
    ...(["mooring-node", "node", "--kubelet-dir", kubeletDir, "--node-name", NODE] as const),
    ...["--pool-size", "1Gi", "--state-dir", join(folder, "state")],
  );

const CLASS = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: at-once}
provisioner: csi.mooring.dev
allowVolumeExpansion: true
`;
const CLAIM = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: default}
spec: {accessModes: [ReadWriteOnce], storageClassName: at-once, resources: {requests: {storage: 64Mi}}}
`;
const SNAPSHOT = `
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: first, namespace: default}
spec: {volumeSnapshotClassName: mooring, source: {persistentVolumeClaimName: data}}
---
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotClass
metadata: {name: mooring}
driver: csi.mooring.dev
deletionPolicy: Delete
`;

const shows = (target: string[], path: string, wanted: string | RegExp) =>
  eventually(
    `${target.join(" ")} ${path} to be ${wanted}; ${processes.map((p) => p.stderr.slice(-1500))}`,
    async () => {
      const seen = await kubectl.run("get", ...target, "-o", `jsonpath=${path}`);
      return (typeof wanted === "string" ? seen === wanted : wanted.test(seen)) ? seen : undefined;
    },
  );

test(
  "a controller and a node process, each with its own rights, serve a cluster's kubelet",
  thorough(),
  async () => {
    await store.create(Nodes, { apiVersion: "v1", kind: "Node", metadata: { name: NODE } });
    const controller = await startController();
    let node = await startNode();
    const kubelet = await kubeletAt(kubeletDir);
    const found = await kubelet.findPlugin();
    assert.equal(found.type, "CSIPlugin");
    assert.equal(found.name, "csi.mooring.dev");
    assert.deepEqual(found.supportedVersions, ["1.0.0"]);
    const client = await connect(`unix://${found.endpoint}`, { timeoutMs: 60_000 });
    const info = await client.node.nodeGetInfo({});
    await kubelet.accept();
    await eventually("the node to say that it is registered", async () =>
      /has registered the driver/.test(node.stderr),
    );
    // What the kubelet does with the response.
    await store.create(CSINodes, {
      ...{ apiVersion: "storage.k8s.io/v1", kind: "CSINode", metadata: { name: NODE } },
      spec: {
        drivers: [
          {
            ...{ name: found.name, nodeID: info.nodeId },
            topologyKeys: Object.keys(info.accessibleTopology?.segments ?? {}),
          },
        ],
      },
    });
    await kubectl.run(
      ...["label", "node", NODE],
      ...Object.entries(info.accessibleTopology?.segments ?? {}).map(([key, value]) => `${key}=${value}`),
    );
    await kubectl.apply(CLASS);
    await kubectl.apply(CLAIM);
    await shows(["pvc", "data"], "{.status.phase}", "Bound");
    const pv = await kubectl.run("get", "pvc", "data", "-o", "jsonpath={.spec.volumeName}");
    await store.create(KubeVolumeAttachments, {
      ...{ apiVersion: "storage.k8s.io/v1", kind: "VolumeAttachment", metadata: { name: "csi-one" } },
      spec: { attacher: found.name, nodeName: NODE, source: { persistentVolumeName: pv } },
    });
    await shows(["volumeattachments.storage.k8s.io", "csi-one"], "{.status.attached}", "true");
    const volumeId = await kubectl.run("get", "pv", pv, "-o", "jsonpath={.spec.csi.volumeHandle}");
    const { status } = await store.get(KubeVolumeAttachments, { name: "csi-one" });
    const at = {
      ...{ volumeId, volumeCapability: capability({ fsType: "" }) },
      ...{
        stagingTargetPath: join(kubeletDir, "staging"),
        publishContext: { ...status?.attachmentMetadata },
      },
    };
    const targetPath = join(kubeletDir, "target");
    await mkdir(at.stagingTargetPath);
    await client.node.nodeStageVolume(at);
    await client.node.nodePublishVolume({ ...at, targetPath });
    await writeFile(join(targetPath, "file"), "written by a pod");

    // An upgrade of the node's process: the pod's mount is there all the time, and the kubelet finds the driver again.
    assert.equal(await node.end(), 0, node.stderr);
    assert.equal(await readFile(join(targetPath, "file"), "utf8"), "written by a pod");
    assert.equal(await kubelet.socketIsThere(), false);
    node = await startNode();
    assert.equal((await kubelet.findPlugin()).name, "csi.mooring.dev");
    await writeFile(join(targetPath, "more"), "after the upgrade");
    // And a crash.
    await node.end("SIGKILL");
    await writeFile(join(targetPath, "crash"), "after the crash");
    node = await startNode();
    assert.equal((await kubelet.findPlugin()).name, "csi.mooring.dev");
    await kubectl.apply(SNAPSHOT);
    await shows(["volumesnapshot", "first"], "{.status.readyToUse}", "true");

    await client.node.nodeUnpublishVolume({ volumeId, targetPath });
    await client.node.nodeUnstageVolume({ volumeId, stagingTargetPath: at.stagingTargetPath });
    await kubectl.run("delete", "volumeattachments.storage.k8s.io", "csi-one", "--timeout=120s");
    await kubectl.run("delete", "volumesnapshot", "first", "--timeout=120s");
    await kubectl.run("delete", "pvc", "data", "--timeout=120s");
    const own = "volumes.storage.mooring.dev,snapshots.storage.mooring.dev";
    await eventually("everything of the volume to be gone", async () => {
      const left = await leftOf(kubectl, found.name, "at-once", "mooring");
      return left.length === 0 && (await kubectl.run("get", own, "-A", "-o", "name")) === "";
    }).catch(async (cause: unknown) => {
      const left = await kubectl.run("get", own, "-A", "-o", "yaml");
      const others = await leftOf(kubectl, found.name, "at-once", "mooring");
      throw new Error(`left: ${others.join(" ")}\n${left}\n${controller.stderr.slice(-4000)}`, { cause });
    });
    client.close();
    kubelet.close();
    for (const each of [node, controller]) await each.atRest();
    for (const each of [node, controller]) {
      assert.equal(await each.end(), 0, each.stderr);
      assert.doesNotMatch(each.stderr, /forbidden|missing right/i);
    }
  },
);
