import {
  ConfigMaps,
  CSIDrivers,
  CSINodes,
  CSIStorageCapacities,
  getIfAny,
  KubeVolumeAttachments,
  Nodes,
  type ObjectStore,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Resource,
  StorageClasses,
  VolumeAttributesClasses,
  VolumeGroupSnapshotClasses,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
  VolumeSnapshotClasses,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import { PRE_RESIZE_CAPACITY, SELECTED_NODE, VOLUME_CONDITION } from "../common/names.ts";
import { until } from "../testing/harness.ts";
import {
  csiNode,
  DRIVER,
  groupClass,
  groupContent,
  groupSnapshot,
  node,
  persistentVolume,
  snapshotClass,
  snapshotContent,
  storageClass,
  volumeSnapshot,
} from "../testing/objects.ts";
import { WAITED_FOR } from "../testing/registry.ts";
import { ensure, ensureGone, key, NS, newClaim } from "./ensure.ts";
import { endTroubles, makeTroubles, TROUBLED_CLAIMS } from "./troubles.ts";

/**
 * What users, the scheduler and an administrator do, in a way that may be begun again after a crash at any point. It
 * leads through every failpoint of every controller.
 */

const CLAIMS = ["src", "restored", "clone", "odd", "late", "data", "log", "tuned", ...TROUBLED_CLAIMS];

/** Handles that the storage system has before the story begins. */
export const IMPORTED = {
  volume: "vol-imported",
  snapshot: "snap-imported",
  group: "group-imported",
  member: "snap-imported-member",
};
/** A claim of this size gets a volume that is too small at first, and later one in a bad state. */
export const ODD_BYTES = 7n * 1024n ** 3n;
/** No volume of this size can be made there. */
export const FULL_ZONE = "full";
export const LATE_BYTES = 5n * 1024n ** 3n;
/** No volume can be brought to the class of this name. */
export const IMPOSSIBLE_TIER = "impossible";

function bound(store: ObjectStore, name: string) {
  return until(
    `${name} is bound`,
    async () => {
      const found = await store.get(PersistentVolumeClaims, key(name));
      return found.status?.phase === "Bound" && found;
    },
    async () => (await store.list(PersistentVolumeClaims)).items,
  );
}

/** What is declared about the driver in the end. */
export const DECLARED = { fsGroupPolicy: "File" };

/** What the driver can. */
export interface StoryOptions {
  /** Else only nodes expand volumes. */
  controllerExpands: boolean;
}

export async function build(store: ObjectStore, options: StoryOptions): Promise<void> {
  await prepare(store);
  await ensure(store, PersistentVolumeClaims, newClaim("src"));
  const { spec } = await bound(store, "src");
  await ensure(store, KubeVolumeAttachments, attachmentOf(spec?.volumeName ?? ""));
  await Promise.all([
    snapshotAndRestore(store),
    importSnapshot(store),
    oddVolume(store),
    placeLate(store),
    snapshotGroup(store),
    importGroup(store),
    tune(store),
  ]);
  const clone = { kind: "PersistentVolumeClaim", name: "src" };
  await ensure(store, PersistentVolumeClaims, newClaim("clone", { dataSource: clone }));
  await bound(store, "clone");
  await Promise.all([expand(store, "src", "2Gi"), expand(store, "clone", "3Gi")]);
  await until(
    "attached",
    async () => (await store.get(KubeVolumeAttachments, { name: "a" })).status?.attached,
  );
  await until("the node is registered", () => getIfAny(store, CSINodes, { name: "n1" }));
  await until("capacity is published", async () => (await store.list(CSIStorageCapacities)).items.length > 0);
  await makeTroubles(store, options);
  await until("the old volume has its finalizer", async () => {
    const found = await store.get(PersistentVolumes, { name: "old" });
    return (found.metadata.finalizers ?? []).length > 0;
  });
  await until("everything is settled", async () => {
    const claims = (await store.list(PersistentVolumeClaims)).items;
    const volumes = (await store.list(PersistentVolumes)).items;
    return (
      claims.every(({ metadata }) => (metadata.finalizers ?? []).length === 0) &&
      volumes.every(({ metadata }) => metadata.annotations?.[PRE_RESIZE_CAPACITY] === undefined)
    );
  });
}

async function prepare(store: ObjectStore): Promise<void> {
  const late = { metadata: { name: "late" }, volumeBindingMode: "WaitForFirstConsumer" };
  await ensure(store, StorageClasses, storageClass());
  await ensure(store, StorageClasses, storageClass(late));
  const annotations = { "snapshot.storage.kubernetes.io/is-default-class": "true" };
  await ensure(store, VolumeSnapshotClasses, snapshotClass({ metadata: { name: "snaps", annotations } }));
  const grouped = { "groupsnapshot.storage.kubernetes.io/is-default-class": "true" };
  const groups = groupClass({ metadata: { name: "groups", annotations: grouped } });
  await ensure(store, VolumeGroupSnapshotClasses, groups);
  for (const name of ["gold", IMPOSSIBLE_TIER])
    await ensure(store, VolumeAttributesClasses, attributesClass(name));
  await ensure(store, Nodes, node("n1"));
  for (const [name, zone] of [
    ["n2", "b"],
    ["n3", FULL_ZONE],
  ] as const) {
    await ensure(store, Nodes, node(name, { zone }));
    await ensure(store, CSINodes, csiNode(name, ["zone"]));
  }
  const claimRef = { namespace: NS, name: "old", uid: "not-yet" };
  const old = persistentVolume("old", {
    claimRef,
    csi: { driver: DRIVER, volumeHandle: IMPORTED.volume },
    // No CSI mode is both: it cannot be expanded.
    accessModes: ["ReadWriteOnce", "ReadOnlyMany"],
  });
  await ensure(store, PersistentVolumeClaims, newClaim("old", { volumeName: "old" }));
  const { metadata } = await store.get(PersistentVolumeClaims, key("old"));
  const spec = { ...old.spec, claimRef: { ...claimRef, uid: metadata.uid ?? "" } };
  await ensure(store, PersistentVolumes, { ...old, spec });
}

async function snapshotAndRestore(store: ObjectStore): Promise<void> {
  const { spec, ...rest } = volumeSnapshot("snap");
  const { volumeSnapshotClassName: _default, ...unclassed } = spec;
  await ensure(store, VolumeSnapshots, { ...rest, spec: unclassed });
  await until(
    "snap is ready",
    async () => (await store.get(VolumeSnapshots, key("snap"))).status?.readyToUse,
  );
  const dataSource = { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "snap" };
  await ensure(store, PersistentVolumeClaims, newClaim("restored", { dataSource }));
  await bound(store, "restored");
}

async function importSnapshot(store: ObjectStore): Promise<void> {
  const content = snapshotContent("imported", {
    source: { snapshotHandle: IMPORTED.snapshot },
    volumeSnapshotRef: { name: "imported", namespace: NS },
  });
  await ensure(store, VolumeSnapshotContents, content);
  const spec = { source: { volumeSnapshotContentName: "imported" } };
  await ensure(store, VolumeSnapshots, volumeSnapshot("imported", spec));
  await until(
    "it is ready",
    async () => (await store.get(VolumeSnapshots, key("imported"))).status?.readyToUse,
  );
}

async function snapshotGroup(store: ObjectStore): Promise<void> {
  for (const name of ["data", "log"]) {
    const plain = newClaim(name);
    const labelled = { ...plain, metadata: { ...plain.metadata, labels: { app: "db" } } };
    await ensure(store, PersistentVolumeClaims, labelled);
    await bound(store, name);
  }
  await ensure(store, VolumeGroupSnapshots, groupSnapshot("group"));
  await groupIsReady(store, "group");
}

async function importGroup(store: ObjectStore): Promise<void> {
  const content = groupContent("imported-group", {
    source: {
      groupSnapshotHandles: {
        volumeGroupSnapshotHandle: IMPORTED.group,
        volumeSnapshotHandles: [IMPORTED.member],
      },
    },
    volumeGroupSnapshotRef: { name: "imported-group", namespace: NS },
  });
  await ensure(store, VolumeGroupSnapshotContents, content);
  const spec = { source: { volumeGroupSnapshotContentName: "imported-group" } };
  await ensure(store, VolumeGroupSnapshots, groupSnapshot("imported-group", spec));
  await groupIsReady(store, "imported-group");
}

function groupIsReady(store: ObjectStore, name: string) {
  return until(
    `group snapshot ${name} is ready`,
    async () => (await store.get(VolumeGroupSnapshots, key(name))).status?.readyToUse,
    async () => [
      (await store.list(VolumeGroupSnapshots)).items,
      (await store.list(VolumeGroupSnapshotContents)).items,
    ],
  );
}

async function oddVolume(store: ObjectStore): Promise<void> {
  const resources = { requests: { storage: String(ODD_BYTES) } };
  await ensure(store, PersistentVolumeClaims, newClaim("odd", { resources }));
  await until("its bad state is reported", async () => {
    const { metadata } = await store.get(PersistentVolumeClaims, key("odd"));
    return metadata.annotations?.[VOLUME_CONDITION];
  });
}

/** The scheduler first chooses a node that has no room. */
async function placeLate(store: ObjectStore): Promise<void> {
  const resources = { requests: { storage: String(LATE_BYTES) } };
  const late = newClaim("late", { storageClassName: "late", resources }, { [SELECTED_NODE]: "n3" });
  await ensure(store, PersistentVolumeClaims, late);
  await until("another node is asked for, or chosen", async () => {
    const { metadata } = await store.get(PersistentVolumeClaims, key("late"));
    return metadata.annotations?.[SELECTED_NODE] !== "n3";
  });
  const body = { metadata: { annotations: { [SELECTED_NODE]: "n2" } } };
  await store.patch(PersistentVolumeClaims, key("late"), { type: "merge", body });
  await bound(store, "late");
}

async function expand(store: ObjectStore, name: string, storage: string): Promise<void> {
  const body = { spec: { resources: { requests: { storage } } } };
  await store.patch(PersistentVolumeClaims, key(name), { type: "merge", body });
  await until(`${name} is larger`, async () => {
    const { status } = await store.get(PersistentVolumeClaims, key(name));
    return status?.capacity?.storage === storage;
  });
}

/** A user asks for a class, then for one that cannot be, and then is content with what there is. */
async function tune(store: ObjectStore): Promise<void> {
  await ensure(store, PersistentVolumeClaims, newClaim("tuned"));
  await bound(store, "tuned");
  await askFor(store, "gold");
  await isTuned(store);
  for (const [wanted, refusal] of [
    ["missing", "Pending"],
    [IMPOSSIBLE_TIER, "Infeasible"],
  ] as const) {
    await askFor(store, wanted);
    await until(`the class ${wanted} is refused`, async () => {
      const { status } = await store.get(PersistentVolumeClaims, key("tuned"));
      return status?.modifyVolumeStatus?.status === refusal;
    });
  }
  await askFor(store, "gold");
  await isTuned(store);
}

async function askFor(store: ObjectStore, volumeAttributesClassName: string): Promise<void> {
  const body = { spec: { volumeAttributesClassName } };
  await store.patch(PersistentVolumeClaims, key("tuned"), { type: "merge", body });
}

function isTuned(store: ObjectStore) {
  return until(
    "gold is in force, and nothing else is on the way",
    async () => {
      const { status } = await store.get(PersistentVolumeClaims, key("tuned"));
      return status?.currentVolumeAttributesClassName === "gold" && status.modifyVolumeStatus === undefined;
    },
    () => store.get(PersistentVolumeClaims, key("tuned")),
  );
}

function attributesClass(name: string) {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "VolumeAttributesClass",
    metadata: { name },
    driverName: DRIVER,
    parameters: { tier: name },
  };
}

function attachmentOf(volume: string) {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "VolumeAttachment",
    metadata: { name: "a" },
    spec: { attacher: DRIVER, nodeName: "n2", source: { persistentVolumeName: volume } },
  };
}

/** A CSIDriver object that an administrator has made becomes what is declared, and comes back when it is deleted. */
async function declareDriver(store: ObjectStore): Promise<void> {
  const declared = (not?: string) =>
    until("the CSIDriver is as declared", async () => {
      const found = await getIfAny(store, CSIDrivers, { name: DRIVER });
      const isWanted = Object.entries(DECLARED).every(
        ([field, value]) => found?.spec[field as keyof typeof DECLARED] === value,
      );
      return isWanted && found?.metadata.uid !== not && found;
    });
  const { metadata } = await declared();
  await ensureGone(store, CSIDrivers, { name: DRIVER });
  await declared(metadata.uid);
}

/** Everything that users made goes, in one go; then nothing may be left. */
/**
 * What a node does that has a control plane of its own: a claim for which no scheduler chose it is taken, made and deleted.
 */
export async function ownNode(store: ObjectStore): Promise<void> {
  await ensure(store, StorageClasses, storageClass());
  await ensure(store, PersistentVolumeClaims, newClaim("taken"));
  const { metadata } = await bound(store, "taken");
  if (metadata.annotations?.[SELECTED_NODE] !== "n1") throw new Error("no node has taken the claim");
  await ensureGone(store, PersistentVolumeClaims, key("taken"));
  for (const resource of [PersistentVolumes, ConfigMaps] as Resource[])
    await until(
      `no ${resource.plural} are left`,
      async () => (await store.list(resource)).items.length === 0,
      async () => (await store.list(resource)).items,
    );
}

export async function tearDown(store: ObjectStore): Promise<void> {
  await declareDriver(store);
  await ensureGone(store, StorageClasses, { name: "late" });
  await ensureGone(store, KubeVolumeAttachments, { name: "a" });
  for (const name of ["group", "imported-group"]) await ensureGone(store, VolumeGroupSnapshots, key(name));
  for (const name of ["snap", "imported"]) await ensureGone(store, VolumeSnapshots, key(name));
  // A life that ended before the import was bound leaves a content without a snapshot: its owner deletes it.
  await ensureGone(store, VolumeSnapshotContents, { name: "imported" });
  await ensureGone(store, VolumeGroupSnapshotContents, { name: "imported-group" });
  for (const name of [...CLAIMS, "old"]) await ensureGone(store, PersistentVolumeClaims, key(name));
  await endTroubles(store);
  for (const resource of [...WAITED_FOR, CSIStorageCapacities, ConfigMaps] as Resource[])
    await until(
      `no ${resource.plural} are left`,
      async () => (await store.list(resource)).items.length === 0,
      async () => (await store.list(resource)).items,
    );
}
