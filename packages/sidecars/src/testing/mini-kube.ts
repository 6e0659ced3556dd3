import {
  createInformer,
  defined,
  getIfAny,
  hasFinalizer,
  isDeleting,
  isNotFound,
  type KubeObject,
  keyOf,
  mutate,
  type ObjectStore,
  type PersistentVolume,
  type PersistentVolumeClaim,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Resource,
  retryOnConflict,
  StorageClasses,
  source,
} from "@mooring/store";
import { actOn } from "@mooring/store/testing";
import { STORAGE_PROVISIONER, STORAGE_RESIZER } from "../common/names.ts";

/**
 * The few things that kube-controller-manager does and that sidecars depend on: it names the provisioner of a claim,
 * binds volumes to claims, releases volumes whose claim is gone, and lets both go that a server has protected. On request also a
 * kubelet's part of an expansion.
 */
export async function runMiniKube(
  store: ObjectStore,
  signal: AbortSignal,
  options: { kubelet?: boolean } = {},
): Promise<void> {
  const claims = createInformer(store, PersistentVolumeClaims, {});
  const volumes = createInformer(store, PersistentVolumes, {
    indexers: {
      claim: ({ spec }) =>
        spec?.claimRef === undefined ? [] : [`${spec.claimRef.namespace}/${spec.claimRef.name}`],
    },
  });
  const running = [claims.run(signal), volumes.run(signal)];
  const act = async (key: string): Promise<void> => {
    const claim = claims.get(key);
    for (const volume of volumes.byIndex("claim", key)) {
      await settleVolume(store, volume, claim);
      await unprotect(store, PersistentVolumes, volume, "kubernetes.io/pv-protection");
    }
    if (claim === undefined) return;
    await unprotect(store, PersistentVolumeClaims, claim, "kubernetes.io/pvc-protection");
    if (isDeleting(claim)) return;
    await settleClaim(store, claim, volumes.byIndex("claim", key));
    if (options.kubelet === true) await expandOnNode(store, claim);
  };
  const sources = [
    source(claims, (claim) => [keyOf(claim)]),
    source(volumes, ({ spec }) =>
      spec?.claimRef === undefined ? [] : [`${spec.claimRef.namespace}/${spec.claimRef.name}`],
    ),
  ];
  const acting = actOn({ sources, act, backoff: { baseMs: 5, maxMs: 50 } }, signal);
  await Promise.all([...running, acting]);
}

async function settleVolume(
  store: ObjectStore,
  volume: PersistentVolume,
  claim: PersistentVolumeClaim | undefined,
): Promise<void> {
  const { namespace = "", name = "", uid } = volume.spec?.claimRef ?? {};
  const isOwner = (each: PersistentVolumeClaim | undefined) => each?.metadata.uid === uid;
  // A claim that is merely not in the cache yet must not release its volume, which is deleted then.
  const isOwned =
    isOwner(claim) || isOwner(await getIfAny(store, PersistentVolumeClaims, { namespace, name }));
  const phase = isOwned ? "Bound" : "Released";
  if (volume.status?.phase === phase) return;
  const key = { name: volume.metadata.name };
  try {
    await store.patch(
      PersistentVolumes,
      key,
      { type: "merge", body: { status: { phase } } },
      { subresource: "status" },
    );
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** Servers put these finalizers on every claim and volume; nobody uses one here that is being deleted. */
async function unprotect<T extends KubeObject>(
  store: ObjectStore,
  resource: Resource<T>,
  object: T,
  finalizer: string,
): Promise<void> {
  if (!isDeleting(object) || !hasFinalizer(object, finalizer)) return;
  const { name, namespace } = object.metadata;
  const key = { name, ...defined({ namespace }) };
  try {
    await mutate(store, resource, key, ({ metadata }) => {
      metadata.finalizers = (metadata.finalizers ?? []).filter((each) => each !== finalizer);
    });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

async function settleClaim(
  store: ObjectStore,
  claim: PersistentVolumeClaim,
  candidates: PersistentVolume[],
): Promise<void> {
  const volume = candidates.find(({ spec }) => spec?.claimRef?.uid === claim.metadata.uid);
  const key = { namespace: claim.metadata.namespace ?? "", name: claim.metadata.name };
  if (volume === undefined) {
    if (claim.metadata.annotations?.[STORAGE_PROVISIONER] !== undefined || claim.spec?.volumeName) return;
    const { provisioner } = await store.get(StorageClasses, { name: claim.spec?.storageClassName ?? "" });
    const annotations = { [STORAGE_PROVISIONER]: provisioner };
    await store.patch(PersistentVolumeClaims, key, { type: "merge", body: { metadata: { annotations } } });
    return;
  }
  if (!claim.spec?.volumeName) {
    const annotations = { [STORAGE_RESIZER]: volume.spec?.csi?.driver };
    const body = { metadata: { annotations }, spec: { volumeName: volume.metadata.name } };
    await retryOnConflict(() => store.patch(PersistentVolumeClaims, key, { type: "merge", body }));
  }
  if (claim.status?.phase !== "Bound") {
    const status = { phase: "Bound", capacity: volume.spec?.capacity, accessModes: volume.spec?.accessModes };
    await store.patch(
      PersistentVolumeClaims,
      key,
      { type: "merge", body: { status } },
      { subresource: "status" },
    );
  }
}

async function expandOnNode(store: ObjectStore, claim: PersistentVolumeClaim): Promise<void> {
  if (claim.status?.allocatedResourceStatuses?.storage !== "NodeResizePending") return;
  const key = { namespace: claim.metadata.namespace ?? "", name: claim.metadata.name };
  const { allocatedResources } = claim.status;
  const status = { capacity: allocatedResources, allocatedResourceStatuses: null, conditions: [] };
  const body = { metadata: { resourceVersion: claim.metadata.resourceVersion }, status };
  await store.patch(PersistentVolumeClaims, key, { type: "merge", body }, { subresource: "status" });
}
