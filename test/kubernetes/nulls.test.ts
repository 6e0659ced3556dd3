import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import {
  CSINodes,
  Events,
  type KubeObject,
  KubeVolumeAttachments,
  Nodes,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Resource,
  RestStore,
  VolumeGroupSnapshotClasses,
  VolumeSnapshotClasses,
  VolumeSnapshots,
} from "@mooring/store";
import { startTestApiServer } from "@mooring/store/testing";
import { groupWorld } from "../../packages/sidecars/src/testing/group-world.ts";
import { type Harness, startHarness } from "../../packages/sidecars/src/testing/harness.ts";
import {
  csiNode,
  DRIVER,
  groupClass,
  node,
  snapshotClass,
} from "../../packages/sidecars/src/testing/objects.ts";
import { pvc, ready, vs } from "../../packages/sidecars/src/testing/snapshot-world.ts";
import { goEncoding } from "../support/go-encoding.ts";

/** The control plane around a driver, behind a server that writes null for everything that is not there. */
function serve(t: TestContext) {
  return async (store: Parameters<typeof startTestApiServer>[1]) => {
    const api = await startTestApiServer(t, store);
    api.encode = await goEncoding();
    const rest = new RestStore({ server: api.url, tls: {}, namespace: "default" });
    t.after(() => rest.close());
    return rest;
  };
}

const NODES: [Resource, KubeObject][] = [
  [Nodes, node("n1", { zone: "a" })],
  [CSINodes, csiNode("n1", ["zone"])],
  // The kubelet has registered, no driver has.
  [Nodes, node("empty", { zone: "b" })],
  [CSINodes, { ...csiNode("empty"), spec: {} } as KubeObject],
  [VolumeSnapshotClasses, snapshotClass()],
  [VolumeGroupSnapshotClasses, groupClass()],
];

const bound = (h: Harness, name: string) =>
  h.until(
    `claim ${name} is bound`,
    async () => (await h.find(PersistentVolumeClaims, name, "default"))?.status?.phase === "Bound",
    async () => (await h.store.list(Events)).items.map(({ reason, message }) => `${reason}: ${message}`),
  );

test("claims, clones, snapshots, restores, attachments, growth and deletion, where everything absent is null", async (t) => {
  const h = await startHarness(t, { objects: NODES, serve: serve(t), driver: { topology: true } });
  await h.store.create(PersistentVolumeClaims, pvc("src"));
  await bound(h, "src");
  // Without apiGroup: the core group, which a real server writes as null.
  await h.store.create(
    PersistentVolumeClaims,
    pvc("clone", { dataSource: { kind: "PersistentVolumeClaim", name: "src" } }),
  );
  await bound(h, "clone");
  await h.store.create(VolumeSnapshots, vs("snap"));
  await ready(h);
  const dataSource = { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "snap" };
  await h.store.create(PersistentVolumeClaims, pvc("restored", { dataSource }));
  await bound(h, "restored");
  assert.equal(h.driver.backend.volumes.size, 3);

  const claim = await h.store.get(PersistentVolumeClaims, { namespace: "default", name: "src" });
  const persistentVolumeName = claim.spec?.volumeName ?? "";
  await h.store.create(KubeVolumeAttachments, {
    apiVersion: "storage.k8s.io/v1",
    kind: "VolumeAttachment",
    metadata: { name: "a" },
    spec: { attacher: DRIVER, nodeName: "n1", source: { persistentVolumeName } },
  });
  const attachment = () => h.find(KubeVolumeAttachments, "a");
  await h.until("it is attached", async () => (await attachment())?.status?.attached === true, attachment);

  const body = { spec: { resources: { requests: { storage: "2Gi" } } } };
  const key = { namespace: "default", name: "src" };
  await h.store.patch(PersistentVolumeClaims, key, { type: "merge", body });
  const volume = () => h.find(PersistentVolumes, persistentVolumeName);
  await h.until("it has grown", async () => (await volume())?.spec?.capacity?.["storage"] === "2Gi", volume);

  await h.store.delete(KubeVolumeAttachments, { name: "a" });
  await h.until("it is detached", async () => (await attachment()) === undefined, attachment);
  await h.store.delete(VolumeSnapshots, { namespace: "default", name: "snap" });
  for (const name of ["src", "clone", "restored"])
    await h.store.delete(PersistentVolumeClaims, { namespace: "default", name });
  await h.until(
    "nothing is left",
    async () =>
      h.driver.backend.volumes.size === 0 &&
      h.driver.backend.snapshots.size === 0 &&
      (await h.store.list(PersistentVolumes)).items.length === 0,
    async () => [...h.driver.backend.volumes.values(), ...(await h.store.list(PersistentVolumes)).items],
  );
});

test("a group snapshot is made and deleted, where everything absent is null", async (t) => {
  const w = await groupWorld(t, { serve: serve(t) });
  await w.claims("one", "two");
  await w.create("group");
  await w.ready();
  assert.equal((await w.members()).length, 2);
  await w.remove();
  await w.gone();
  await w.h.until("the snapshots are gone", () => w.h.driver.backend.snapshots.size === 0);
});
