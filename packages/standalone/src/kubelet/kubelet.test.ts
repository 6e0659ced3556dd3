import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { after, before, test } from "node:test";
import {
  type KubeVolumeAttachment,
  KubeVolumeAttachments,
  Nodes,
  type ObjectStore,
  PersistentVolumes,
} from "@mooring/store";
import { covers } from "@mooring/store/testing";
import {
  assertNothingLeft,
  claim,
  eventually,
  logOf,
  NODE,
  PersistentVolumeClaims,
  Pods,
  phase,
  podWithClaim,
  startTestCluster,
  type TestCluster,
} from "./testing/test-cluster.ts";

let cluster: TestCluster;
let folder: string;

before(async () => {
  folder = await mkdtemp("/tmp/mooring-kubelet-");
  cluster = await startTestCluster(folder);
});

after(async () => {
  await cluster.stop();
  await assertNothingLeft(folder);
  await rm(folder, { recursive: true });
});

/** The first VolumeAttachment as it was made. */
async function firstAttachment(store: ObjectStore): Promise<KubeVolumeAttachment> {
  const { resourceVersion } = await store.list(KubeVolumeAttachments);
  const signal = AbortSignal.timeout(60_000);
  for await (const event of store.watch(KubeVolumeAttachments, { resourceVersion, signal }))
    if (event.type === "ADDED") return event.object;
  throw new Error("no attachment was made");
}

test("a claim is provisioned, attached, staged, published and written to by a pod", async () => {
  covers("K8S-001", "K8S-011", "CSI-314", "K8S-062", "K8S-101", "K8S-104", "K8S-032");
  const { store, driver } = cluster;
  const made = firstAttachment(store);
  await store.create(PersistentVolumeClaims, claim("main"));
  await store.create(Pods, podWithClaim("writer", "main", "echo content > /data/file; hostname"));
  await eventually(store, Pods, "writer", phase("Succeeded"));
  assert.equal(await logOf(cluster, "writer"), "writer\n");
  // Its attacher is in this process: the attachment is made as one that it need not write to before its call.
  const { annotations, finalizers } = (await made).metadata;
  assert.deepEqual(finalizers, ["external-attacher/dir-test-mooring-dev"]);
  assert.equal(annotations?.["csi.alpha.kubernetes.io/node-id"], NODE);
  await store.delete(Pods, { namespace: "default", name: "writer" });
  await eventually(store, Pods, "writer", (object) => object === undefined);
  await store.create(Pods, podWithClaim("reader", "main", "cat /data/file"));
  await eventually(store, Pods, "reader", phase("Succeeded"));
  assert.equal(await logOf(cluster, "reader"), "content\n");
  await store.delete(Pods, { namespace: "default", name: "reader" });
  await store.delete(PersistentVolumeClaims, { namespace: "default", name: "main" });
  await eventually(store, PersistentVolumeClaims, "main", (object) => object === undefined);
  const handle = driver.calls.find((call) => call.startsWith("DeleteVolume"));
  const volume = (await store.list(PersistentVolumes)).items[0]?.metadata.name;
  if (handle === undefined && volume !== undefined) {
    await eventually(store, PersistentVolumes, volume, (object) => object === undefined);
  }
  assert.deepEqual((await store.list(KubeVolumeAttachments)).items, []);
  const node = await store.get(Nodes, { name: NODE });
  assert.deepEqual(node.status?.volumesInUse ?? [], []);
});
