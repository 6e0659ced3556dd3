import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { KubeVolumeAttachments } from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { thorough } from "../../packages/store/src/testing/sample.ts";
import { capability } from "../csi/support/volumes.ts";
import { leftOf } from "./support/left.ts";
import { PATIENT } from "./support/patience.ts";
import { ClusterProcesses } from "./support/processes.ts";

const NODE = "worker-1";
const cluster = await ClusterProcesses.open(NODE);
const { kubectl, store } = cluster.server;
const { kubeletDir } = cluster;
after(() => cluster.close());

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

test(
  "a controller and a node process, each with its own rights, serve a cluster's kubelet",
  thorough(),
  async () => {
    const controller = await cluster.startController();
    let node = await cluster.startNode();
    const { kubelet, found, client } = await cluster.register(node);
    assert.equal(found.type, "CSIPlugin");
    assert.equal(found.name, "csi.mooring.dev");
    assert.deepEqual(found.supportedVersions, ["1.0.0"]);
    await kubectl.apply(CLASS);
    await kubectl.apply(CLAIM);
    await cluster.shows(["pvc", "data"], "{.status.phase}", "Bound");
    const pv = await kubectl.run("get", "pvc", "data", "-o", "jsonpath={.spec.volumeName}");
    await store.create(KubeVolumeAttachments, {
      ...{ apiVersion: "storage.k8s.io/v1", kind: "VolumeAttachment", metadata: { name: "csi-one" } },
      spec: { attacher: found.name, nodeName: NODE, source: { persistentVolumeName: pv } },
    });
    await cluster.shows(["volumeattachments.storage.k8s.io", "csi-one"], "{.status.attached}", "true");
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
    node = await cluster.startNode();
    assert.equal((await kubelet.findPlugin()).name, "csi.mooring.dev");
    await writeFile(join(targetPath, "more"), "after the upgrade");
    // And a crash.
    await node.end("SIGKILL");
    await writeFile(join(targetPath, "crash"), "after the crash");
    node = await cluster.startNode();
    assert.equal((await kubelet.findPlugin()).name, "csi.mooring.dev");
    await kubectl.apply(SNAPSHOT);
    await cluster.shows(["volumesnapshot", "first"], "{.status.readyToUse}", "true");

    await client.node.nodeUnpublishVolume({ volumeId, targetPath });
    await client.node.nodeUnstageVolume({ volumeId, stagingTargetPath: at.stagingTargetPath });
    await kubectl.run("delete", "volumeattachments.storage.k8s.io", "csi-one", "--timeout=600s");
    await kubectl.run("delete", "volumesnapshot", "first", "--timeout=600s");
    await kubectl.run("delete", "pvc", "data", "--timeout=600s");
    const own = "volumes.storage.mooring.dev,snapshots.storage.mooring.dev";
    const isGone = async () => {
      const left = await leftOf(kubectl, found.name, "at-once", "mooring");
      return left.length === 0 && (await kubectl.run("get", own, "-A", "-o", "name")) === "";
    };
    await eventually("everything of the volume to be gone", isGone, {
      ...PATIENT,
      lastSeen: async () => ({
        own: await kubectl.run("get", own, "-A", "-o", "yaml"),
        others: await leftOf(kubectl, found.name, "at-once", "mooring"),
        controller: controller.stderr.slice(-4000),
      }),
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
