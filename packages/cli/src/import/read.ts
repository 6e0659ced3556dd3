import { parseCsiHandle, type RbdSurvey, type SurveyedImage, uuidOfImage, Volumes } from "@mooring/engine";
import {
  defined,
  KubeVolumeAttachments,
  type ObjectStore,
  type PersistentVolume,
  PersistentVolumes,
} from "@mooring/store";
import { type Content, type ImportContext, importedName, importedPersistentVolume } from "./context.ts";
import { type ImportPlan, planImport } from "./plan.ts";

/** ceph-csi's driver, which installations put their own name before: `rook-ceph.rbd.csi.ceph.com`. */
const CEPH_CSI = /(^|\.)rbd\.csi\.ceph\.com$/;
/** Which of Mooring's pools, and where in the cluster it is. */
export interface ImportPlace {
  pool: string;
  cephPool: string;
  namespace: string | undefined;
}

/** What an import of each image would do. Reads the API server, and changes nothing there. */
export async function readPlans(
  store: ObjectStore,
  place: ImportPlace,
  survey: RbdSurvey,
  content: Content | undefined,
): Promise<ImportPlan[]> {
  const [volumes, described, attachments] = await Promise.all([
    store.list(Volumes),
    store.list(PersistentVolumes),
    store.list(KubeVolumeAttachments),
  ]);
  const { pool, cephPool, namespace } = place;
  const contextOf = (image: SurveyedImage): ImportContext => {
    const persistentVolumes = described.items.filter((each) => isOf(each, image, place, survey.poolID));
    const names = new Set(persistentVolumes.map(({ metadata }) => metadata.name));
    const attachedTo = attachments.items
      .filter(({ spec }) => names.has(spec?.source?.persistentVolumeName ?? ""))
      .map(({ spec }) => spec?.nodeName ?? "");
    const name = importedName(pool, image);
    const named = importedPersistentVolume(name);
    const made = defined({
      volume: volumes.items.find(({ metadata }) => metadata.name === name),
      persistentVolume: described.items.find(({ metadata }) => metadata.name === named),
    });
    const where = namespace === undefined ? cephPool : `${cephPool}/${namespace}`;
    return { pool, where, persistentVolumes, attachedTo, content, made };
  };
  return survey.images
    .filter((image) => !isOurs(image, pool))
    .map((image) => planImport(image, contextOf(image)));
}

/** Mooring has made it. What an import into this pool has renamed is asked about. */
function isOurs(image: SurveyedImage, pool: string): boolean {
  return image.name.startsWith("mooring") && image.name !== `mooring.${importedName(pool, image)}`;
}

/** Whether a PersistentVolume of ceph-csi is this image: made by it, or declared by hand with the image's name. */
function isOf(
  { spec }: PersistentVolume,
  { name, csi }: SurveyedImage,
  { cephPool, namespace = "" }: ImportPlace,
  poolID: number,
): boolean {
  const { driver = "", volumeHandle = "", volumeAttributes = {} } = spec?.csi ?? {};
  if (!CEPH_CSI.test(driver) || (volumeAttributes["radosNamespace"] ?? "") !== namespace) return false;
  if (volumeAttributes["staticVolume"] === "true")
    return volumeHandle === name && volumeAttributes["pool"] === cephPool;
  const handle = parseCsiHandle(volumeHandle);
  return handle?.poolID === poolID && handle.uuid === (csi?.uuid ?? uuidOfImage(name));
}
