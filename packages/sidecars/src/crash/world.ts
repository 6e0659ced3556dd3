import {
  ConfigMaps,
  CSINodes,
  isAlreadyExists,
  isNotFound,
  type KubeObject,
  KubeVolumeAttachments,
  Nodes,
  type ObjectKey,
  type ObjectStore,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Resource,
  StorageClasses,
  VolumeSnapshotClasses,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import { getIfAny } from "../kube/get.ts";
import { until } from "../testing/harness.ts";
import {
  claim,
  csiNode,
  DRIVER,
  node,
  snapshotClass,
  storageClass,
  volumeSnapshot,
} from "../testing/objects.ts";

/** What a user does, in a way that may be begun again after a crash at any point. */

const NS = "default";
const key = (name: string): ObjectKey => ({ namespace: NS, name });

async function ensure<T extends KubeObject>(
  store: ObjectStore,
  resource: Resource<T>,
  object: T,
): Promise<void> {
  try {
    const { uid: _uid, ...metadata } = object.metadata;
    await store.create(resource, { ...object, metadata });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

async function ensureGone<T extends KubeObject>(
  store: ObjectStore,
  resource: Resource<T>,
  at: ObjectKey,
): Promise<void> {
  try {
    await store.delete(resource, at);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

function newClaim(name: string, spec: object = {}) {
  const plain = claim(name, spec);
  return { ...plain, metadata: { name, namespace: NS } };
}

async function bound(store: ObjectStore, name: string) {
  return until(`${name} is bound`, async () => {
    const found = await store.get(PersistentVolumeClaims, key(name));
    return found.status?.phase === "Bound" && found;
  });
}

/** A volume, attached and expanded; a snapshot of it; a restored volume and a clone. */
export async function build(store: ObjectStore): Promise<void> {
  await ensure(store, StorageClasses, storageClass());
  await ensure(store, VolumeSnapshotClasses, defaultSnapshotClass());
  await ensure(store, Nodes, node("n1"));
  await ensure(store, CSINodes, csiNode("n2"));
  await ensure(store, PersistentVolumeClaims, newClaim("src"));
  const { spec } = await bound(store, "src");
  await ensure(store, KubeVolumeAttachments, attachmentOf(spec?.volumeName ?? ""));
  const { volumeSnapshotClassName: _default, ...unclassed } = volumeSnapshot("snap").spec;
  await ensure(store, VolumeSnapshots, { ...volumeSnapshot("snap"), spec: unclassed });
  await until(
    "snap is ready",
    async () => (await store.get(VolumeSnapshots, key("snap"))).status?.readyToUse,
  );
  const dataSource = { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "snap" };
  await ensure(store, PersistentVolumeClaims, newClaim("restored", { dataSource }));
  const clone = { kind: "PersistentVolumeClaim", name: "src" };
  await ensure(store, PersistentVolumeClaims, newClaim("clone", { dataSource: clone }));
  await Promise.all([bound(store, "restored"), bound(store, "clone")]);
  const body = { spec: { resources: { requests: { storage: "2Gi" } } } };
  await store.patch(PersistentVolumeClaims, key("src"), { type: "merge", body });
  await until(
    "src is larger",
    async () => (await store.get(PersistentVolumeClaims, key("src"))).status?.capacity?.storage === "2Gi",
  );
  await until(
    "attached",
    async () => (await store.get(KubeVolumeAttachments, { name: "a" })).status?.attached,
  );
  await until("the node is registered", () => getIfAny(store, CSINodes, { name: "n1" }));
  await until("claims are released", async () => {
    const { items } = await store.list(PersistentVolumeClaims);
    return items.every(({ metadata }) => (metadata.finalizers ?? []).length === 0);
  });
}

/** Everything that users made goes, in one go; then nothing may be left. */
export async function tearDown(store: ObjectStore): Promise<void> {
  await ensureGone(store, KubeVolumeAttachments, { name: "a" });
  await ensureGone(store, VolumeSnapshots, key("snap"));
  for (const name of ["src", "restored", "clone"]) await ensureGone(store, PersistentVolumeClaims, key(name));
  const mine: Resource[] = [
    KubeVolumeAttachments,
    VolumeSnapshots,
    VolumeSnapshotContents,
    PersistentVolumeClaims,
    PersistentVolumes,
  ];
  for (const resource of mine)
    await until(
      `no ${resource.plural} are left`,
      async () => (await store.list(resource)).items.length === 0,
      async () => (await store.list(resource)).items,
    );
  await until("no record is left", async () => (await recordsOf(store)).length === 0);
}

async function recordsOf(store: ObjectStore): Promise<KubeObject[]> {
  return (await store.list(ConfigMaps)).items;
}

function defaultSnapshotClass() {
  const annotations = { "snapshot.storage.kubernetes.io/is-default-class": "true" };
  return snapshotClass({ metadata: { name: "snaps", annotations } });
}

function attachmentOf(volume: string) {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "VolumeAttachment",
    metadata: { name: "a" },
    spec: { attacher: DRIVER, nodeName: "n2", source: { persistentVolumeName: volume } },
  };
}
