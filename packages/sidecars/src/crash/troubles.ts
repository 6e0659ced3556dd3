import {
  CSINodes,
  CSIStorageCapacities,
  Events,
  getIfAny,
  isNotFound,
  type KubeObject,
  KubeVolumeAttachments,
  type ObjectKey,
  type ObjectStore,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Resource,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
  VolumeSnapshotClasses,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import {
  attacherFinalizer,
  BEING_DELETED,
  CLAIM_SOURCE_FINALIZER,
  GROUP_BEING_DELETED,
  PV_FINALIZER,
} from "../common/names.ts";
import { until } from "../testing/harness.ts";
import {
  DRIVER,
  groupContent,
  groupSnapshot,
  persistentVolume,
  snapshotClass,
  snapshotContent,
  volumeSnapshot,
} from "../testing/objects.ts";
import { ensure, ensureGone, key, NS, newClaim } from "./ensure.ts";

/** What is wrong, and reported to its users: every controller has steps for that, and may be killed behind them. */

/** Claims that never get a volume. */
export const TROUBLED_CLAIMS = ["sourceless", "populated"];
/** The driver makes no snapshot of a class with this parameter. */
export const REFUSED = "refused";
/** The driver expands no volume to this size. */
export const IMPOSSIBLE_BYTES = 9n * 1024n ** 3n;
const KEPT = "example.com/kept";

/** Resolves when all that is wrong has been reported. */
export async function makeTroubles(
  store: ObjectStore,
  { controllerExpands }: { controllerExpands: boolean },
): Promise<void> {
  await Promise.all([
    lackSources(store),
    lackClasses(store),
    refuseSnapshot(store),
    attachBadly(store),
    ...(controllerExpands ? [expandTooFar(store), expandWithoutMode(store)] : []),
    doubleCapacity(store),
    forgetNode(store),
  ]);
}

async function lackSources(store: ObjectStore): Promise<void> {
  const snapshot = { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "nowhere" };
  await ensure(store, PersistentVolumeClaims, newClaim("sourceless", { dataSource: snapshot }));
  const dataSourceRef = { apiGroup: "example.com", kind: "Picture", name: "cat" };
  await ensure(store, PersistentVolumeClaims, newClaim("populated", { dataSourceRef }));
  await isReported(store, "sourceless", "WaitForDataSource");
  await isReported(store, "populated", "Provisioning");
}

/** Its claim is kept while it is asked for again and again, and released with it. */
async function refuseSnapshot(store: ObjectStore): Promise<void> {
  const name = "refused";
  const parameters = { [REFUSED]: "yes" };
  await ensure(store, VolumeSnapshotClasses, snapshotClass({ metadata: { name }, parameters }));
  const source = { persistentVolumeClaimName: "restored" };
  await ensure(store, VolumeSnapshots, volumeSnapshot(name, { source, volumeSnapshotClassName: name }));
  const isKept = async () => {
    const { metadata } = await store.get(PersistentVolumeClaims, key("restored"));
    return metadata.finalizers?.includes(CLAIM_SOURCE_FINALIZER) === true;
  };
  await until("its claim is kept", isKept);
  await ensureGone(store, VolumeSnapshots, key(name));
  await until("its claim is released", async () => !(await isKept()));
}

async function lackClasses(store: ObjectStore): Promise<void> {
  await ensure(
    store,
    VolumeSnapshots,
    volumeSnapshot("lost", {
      source: { persistentVolumeClaimName: "src" },
      volumeSnapshotClassName: "missing",
    }),
  );
  const nobodys = { source: { selector: { matchLabels: { app: "nobodys" } } } };
  await ensure(store, VolumeGroupSnapshots, groupSnapshot("lost", nobodys));
  const ref = { name: "elsewhere", namespace: NS, uid: "elsewhere" };
  // Their snapshots are gone, as an administrator who removes finalizers by hand leaves them.
  const content = snapshotContent(
    "lost",
    { volumeSnapshotRef: ref, volumeSnapshotClassName: "missing" },
    { annotations: { [BEING_DELETED]: "yes" } },
  );
  await ensure(store, VolumeSnapshotContents, content);
  const ofGroup = groupContent(
    "lost",
    { volumeGroupSnapshotRef: ref, volumeGroupSnapshotClassName: "missing" },
    { annotations: { [GROUP_BEING_DELETED]: "yes" } },
  );
  await ensure(store, VolumeGroupSnapshotContents, ofGroup);
  const lost = { snapshot: key("lost"), content: { name: "lost" } };
  await hasError(store, VolumeSnapshots, lost.snapshot);
  await hasError(store, VolumeGroupSnapshots, lost.snapshot);
  await hasError(store, VolumeSnapshotContents, lost.content);
  await hasError(store, VolumeGroupSnapshotContents, lost.content);
}

async function hasError<T extends KubeObject & { status?: { error?: object } }>(
  store: ObjectStore,
  kind: Resource<T>,
  at: ObjectKey,
): Promise<void> {
  await until(
    `${kind.kind} ${at.name} has an error`,
    async () => (await store.get(kind, at)).status?.error,
    () => store.get(kind, at),
  );
}

/**
 * One to a volume that is not there, one that another controller keeps when it ends, and one of another attacher. And a
 * volume that was attached, is no more, and whose data are to be kept.
 */
async function attachBadly(store: ObjectStore): Promise<void> {
  await ensure(store, KubeVolumeAttachments, attachment("lost", "nowhere"));
  const { spec } = await store.get(PersistentVolumeClaims, key("restored"));
  // As a provisioner leaves it that has no attacher beside it.
  const body = { metadata: { finalizers: [PV_FINALIZER] } };
  await store.patch(PersistentVolumes, { name: spec?.volumeName ?? "" }, { type: "merge", body });
  const kept = attachment("kept", spec?.volumeName ?? "");
  const metadata = { ...kept.metadata, finalizers: [KEPT] };
  await ensure(store, KubeVolumeAttachments, { ...kept, metadata });
  await ensure(
    store,
    KubeVolumeAttachments,
    attachment("foreign", spec?.volumeName ?? "", "other.example.com"),
  );
  const retired = persistentVolume(
    "retired",
    { persistentVolumeReclaimPolicy: "Retain" },
    { finalizers: [attacherFinalizer(DRIVER)] },
  );
  await ensure(store, PersistentVolumes, retired);
  await until(
    "the missing volume is reported",
    async () => (await store.get(KubeVolumeAttachments, { name: "lost" })).status?.attachError,
  );
  await until(
    "kept is attached",
    async () => (await store.get(KubeVolumeAttachments, { name: "kept" })).status?.attached,
  );
}

function attachment(name: string, volume: string, attacher = DRIVER) {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "VolumeAttachment",
    metadata: { name },
    spec: { attacher, nodeName: "n2", source: { persistentVolumeName: volume } },
  };
}

/** The driver refuses, and its user is content with what there is. */
async function expandTooFar(store: ObjectStore): Promise<void> {
  const statusOf = async () => {
    const { status } = await store.get(PersistentVolumeClaims, key("restored"));
    return status?.allocatedResourceStatuses?.storage;
  };
  await request(store, "restored", String(IMPOSSIBLE_BYTES));
  await until("the size is refused", async () => (await statusOf()) === "ControllerResizeInfeasible");
  await request(store, "restored", "1Gi");
  await until("the refusal is withdrawn", async () => (await statusOf()) === undefined);
}

async function expandWithoutMode(store: ObjectStore): Promise<void> {
  await request(store, "old", "2Gi");
  await isReported(store, "old", "VolumeResizeFailed");
}

async function request(store: ObjectStore, name: string, storage: string): Promise<void> {
  const body = { spec: { resources: { requests: { storage } } } };
  await store.patch(PersistentVolumeClaims, key(name), { type: "merge", body });
}

/** As another program leaves them. */
async function doubleCapacity(store: ObjectStore): Promise<void> {
  const [published] = (await store.list(CSIStorageCapacities)).items;
  if (published === undefined) return;
  const { labels = {}, namespace = "" } = published.metadata;
  const double = { ...published, metadata: { name: "double", namespace, labels } };
  await ensure(store, CSIStorageCapacities, double);
  await until(
    "one of the two is deleted",
    async () => (await getIfAny(store, CSIStorageCapacities, { name: "double", namespace })) === undefined,
  );
}

async function forgetNode(store: ObjectStore): Promise<void> {
  const body = { spec: { drivers: [] } };
  await store.patch(CSINodes, { name: "n1" }, { type: "merge", body });
  await until(
    "the driver is in the CSINode again",
    async () => (await store.get(CSINodes, { name: "n1" })).spec.drivers.length > 0,
  );
}

async function isReported(store: ObjectStore, name: string, reason: string): Promise<void> {
  await until(
    `${name}: ${reason}`,
    async () =>
      (await store.list(Events)).items.some(
        (event) => event.involvedObject.name === name && event.reason === reason,
      ),
    async () => (await store.list(Events)).items.filter(({ involvedObject }) => involvedObject.name === name),
  );
}

/** After the claims have been deleted: what stands in the way goes. */
export async function endTroubles(store: ObjectStore): Promise<void> {
  for (const kind of [VolumeSnapshots, VolumeGroupSnapshots]) await ensureGone(store, kind, key("lost"));
  for (const kind of [VolumeSnapshotContents, VolumeGroupSnapshotContents])
    await ensureGone(store, kind, { name: "lost" });
  await ensureGone(store, PersistentVolumes, { name: "retired" });
  for (const name of ["lost", "kept"]) await ensureGone(store, KubeVolumeAttachments, { name });
  await until("kept is detached, and is free to go", async () => {
    const kept = await getIfAny(store, KubeVolumeAttachments, { name: "kept" });
    if (kept === undefined) return true;
    const { finalizers = [] } = kept.metadata;
    return finalizers.every((finalizer) => finalizer === KEPT) && kept.status?.attached !== true;
  });
  await release(store);
  await reportForeign(store);
  await ensureGone(store, KubeVolumeAttachments, { name: "foreign" });
}

async function release(store: ObjectStore): Promise<void> {
  const body = { metadata: { finalizers: [] } };
  try {
    await store.patch(KubeVolumeAttachments, { name: "kept" }, { type: "merge", body });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** A volume is not deleted before its last attachment has ended, also when that is another attacher's. */
async function reportForeign(store: ObjectStore): Promise<void> {
  const foreign = await getIfAny(store, KubeVolumeAttachments, { name: "foreign" });
  const name = foreign?.spec.source.persistentVolumeName;
  if (name === undefined || (await getIfAny(store, PersistentVolumes, { name })) === undefined) return;
  await isReported(store, name, "VolumeFailedDelete");
}
