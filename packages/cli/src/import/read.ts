import {
  parseCsiHandle,
  type RbdSurvey,
  type SurveyedImage,
  uuidOfImage,
  type Volume,
  Volumes,
} from "@mooring/engine";
import {
  defined,
  type KubeVolumeAttachment,
  KubeVolumeAttachments,
  type ObjectStore,
  type PersistentVolume,
  type PersistentVolumeClaim,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Pod,
  Pods,
} from "@mooring/store";
import { claimOf, imageOf } from "./annotations.ts";
import { type Content, type ImportContext, importedName, importedPersistentVolume } from "./context.ts";
import type { ImportPlan } from "./plan.ts";

/** ceph-csi's driver, which installations put their own name before: `rook-ceph.rbd.csi.ceph.com`. */
const CEPH_CSI = /(^|\.)rbd\.csi\.ceph\.com$/;
const ENDED = new Set(["Succeeded", "Failed"]);

/** Which of Mooring's pools, where in the cluster it is, and what the operator says of images. */
export interface ImportPlace {
  pool: string;
  cephPool: string;
  namespace: string | undefined;
  content: Content | undefined;
  storageClass: string;
  /** What ceph-csi's configuration calls this cluster, where the operator says it. */
  clusterID?: string;
}

/** Everything of the API server that an import may depend on. */
export interface ImportObjects {
  volumes: Volume[];
  persistentVolumes: PersistentVolume[];
  claims: PersistentVolumeClaim[];
  pods: Pod[];
  attachments: KubeVolumeAttachment[];
}

/** Changes nothing. */
export async function readObjects(store: ObjectStore): Promise<ImportObjects> {
  const [volumes, persistentVolumes, claims, pods, attachments] = await Promise.all([
    store.list(Volumes),
    store.list(PersistentVolumes),
    store.list(PersistentVolumeClaims),
    store.list(Pods),
    store.list(KubeVolumeAttachments),
  ]);
  return {
    ...{ volumes: volumes.items, persistentVolumes: persistentVolumes.items, claims: claims.items },
    ...{ pods: pods.items, attachments: attachments.items },
  };
}

/** Names that images of an import that was begun have by now, by those that they had. */
export function renamedBy({ persistentVolumes }: ImportObjects, { pool }: ImportPlace): Map<string, string> {
  const names = new Map<string, string>();
  for (const each of persistentVolumes) {
    const [before, handle = ""] = [imageOf(each), each.spec?.csi?.volumeHandle];
    if (before !== undefined && handle.startsWith(`v-import-${pool}-`))
      names.set(before, `mooring.${handle}`);
  }
  return names;
}

/** What is planned for each image, but for those that Mooring has made. */
export function plansOf(
  objects: ImportObjects,
  place: ImportPlace,
  survey: RbdSurvey,
  plan: (image: SurveyedImage, context: ImportContext) => ImportPlan,
): ImportPlan[] {
  return survey.images
    .filter((image) => !isOurs(image, place.pool))
    .map((image) => plan(image, contextOf(image, { objects, place, survey })));
}

interface Reading {
  objects: ImportObjects;
  place: ImportPlace;
  survey: RbdSurvey;
}

function contextOf(image: SurveyedImage, { objects, place, survey }: Reading): ImportContext {
  const { pool, cephPool, namespace, content, storageClass } = place;
  const name = importedName(pool, image);
  const made = defined({
    volume: objects.volumes.find(({ metadata }) => metadata.name === name),
    persistentVolume: objects.persistentVolumes.find(
      ({ metadata }) => metadata.name === importedPersistentVolume(name),
    ),
  });
  // Once it is renamed, its name before leads to the one of ceph-csi.
  const before = (made.persistentVolume && imageOf(made.persistentVolume)) ?? image.name;
  const persistentVolumes = objects.persistentVolumes.filter((each) =>
    isOf(each, { ...image, name: before }, place, survey.poolID),
  );
  const ofUnknownCluster = persistentVolumes
    .filter((each) => !isOfThisCluster(each, { objects, place, survey }))
    .map((each) => ({ name: each.metadata.name, clusterID: clusterOf(each) }));
  const names = new Set(persistentVolumes.map(({ metadata }) => metadata.name));
  const attachedTo = objects.attachments
    .filter(({ spec }) => names.has(spec?.source?.persistentVolumeName ?? ""))
    .map(({ spec }) => spec?.nodeName ?? "");
  const claim = claimAmong(objects, persistentVolumes[0], made.persistentVolume);
  return {
    ...{ pool, persistentVolumes, ofUnknownCluster, attachedTo, content, storageClass, made },
    ...{ where: namespace === undefined ? cephPool : `${cephPool}/${namespace}`, others: survey.names },
    pods: claim === undefined ? [] : usersOf(claim, objects.pods),
    ...defined({ claim }),
  };
}

/** The one that is bound to the volume of ceph-csi; when an import has begun, whichever has its name. */
function claimAmong(
  { claims }: ImportObjects,
  old: PersistentVolume | undefined,
  made: PersistentVolume | undefined,
): PersistentVolumeClaim | undefined {
  const kept = made && claimOf(made);
  const reference = kept?.metadata ?? old?.spec?.claimRef;
  if (reference === undefined || (made !== undefined && kept === undefined)) return undefined;
  const { namespace, name, uid } = reference;
  const found = claims.find(({ metadata }) => metadata.name === name && metadata.namespace === namespace);
  if (kept !== undefined) return found;
  const bound = found?.spec?.volumeName === old?.metadata.name;
  return bound && (uid === undefined || found?.metadata.uid === uid) ? found : undefined;
}

function usersOf({ metadata }: PersistentVolumeClaim, pods: readonly Pod[]): string[] {
  const uses = ({ metadata: { namespace }, spec, status }: Pod): boolean =>
    namespace === metadata.namespace &&
    !ENDED.has(status?.phase ?? "") &&
    spec?.volumes?.some((volume) => volume.persistentVolumeClaim?.claimName === metadata.name) === true;
  return pods.filter(uses).map((pod) => `${pod.metadata.namespace}/${pod.metadata.name}`);
}

/** Mooring has made it. What an import into this pool has renamed is asked about. */
function isOurs(image: SurveyedImage, pool: string): boolean {
  return image.name.startsWith("mooring") && image.name !== `mooring.${importedName(pool, image)}`;
}

/**
 * Whether a PersistentVolume of ceph-csi is this image: made by it, or declared by hand with the image's name. Never one of a cluster
 * that the operator has not named, once one is named.
 */
function isOf(
  volume: PersistentVolume,
  { name, csi }: SurveyedImage,
  { cephPool, namespace = "", clusterID }: ImportPlace,
  poolID: number,
): boolean {
  const { volumeHandle = "", volumeAttributes = {} } = volume.spec?.csi ?? {};
  if (!isCephCsi(volume) || (volumeAttributes["radosNamespace"] ?? "") !== namespace) return false;
  if (clusterID !== undefined && clusterOf(volume) !== clusterID) return false;
  if (isStatic(volume)) return volumeHandle === name && volumeAttributes["pool"] === cephPool;
  const handle = parseCsiHandle(volumeHandle);
  return handle?.poolID === poolID && handle.uuid === (csi?.uuid ?? uuidOfImage(name));
}

/**
 * Names of pools and images are the same in many clusters. What ceph-csi has made itself has a name that no two have; what was declared by
 * hand is of this cluster where there is no other one, where the operator says so, or where ceph-csi has made volumes under the same id here.
 */
function isOfThisCluster(volume: PersistentVolume, { objects, place, survey }: Reading): boolean {
  if (!isStatic(volume) || place.clusterID !== undefined) return true;
  const known = objects.persistentVolumes.filter(isCephCsi);
  if (new Set(known.map(clusterOf)).size === 1) return true;
  const own = clusterOf(volume);
  const uuids = new Set([...survey.names].map(uuidOfImage));
  return known.some(({ spec }) => {
    const handle = parseCsiHandle(spec?.csi?.volumeHandle ?? "");
    return handle?.clusterID === own && handle?.poolID === survey.poolID && uuids.has(handle.uuid);
  });
}

function isCephCsi({ spec }: PersistentVolume): boolean {
  return CEPH_CSI.test(spec?.csi?.driver ?? "");
}

function isStatic({ spec }: PersistentVolume): boolean {
  return spec?.csi?.volumeAttributes?.["staticVolume"] === "true";
}

/** What ceph-csi's configuration calls the cluster; undefined: the volume does not say. */
function clusterOf({ spec }: PersistentVolume): string | undefined {
  const { volumeAttributes = {}, volumeHandle = "" } = spec?.csi ?? {};
  return volumeAttributes["clusterID"] ?? parseCsiHandle(volumeHandle)?.clusterID;
}
