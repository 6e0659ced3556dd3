import { isImageFeature, type Superblock, type SurveyedImage } from "@mooring/engine";
import { contentOf, describedBy, type ImportContext, importedName, nameOf } from "./context.ts";

/** Why an image cannot be imported as it is, and what would change that. */
export interface Obstacle {
  why: string;
  /** A command, or what to say; absent: nothing would. */
  next?: string;
}

/** Images are made of whole sectors of this size. */
const SECTOR = 4096;
/** No image can do without these. */
const NEEDED = ["layering", "exclusive-lock"];
/** Ceph's own marks, which say nothing about who can open it. */
const MARKS = ["operations"];

type Rule = (image: SurveyedImage, context: ImportContext) => Obstacle | undefined;

const RULES: readonly Rule[] = [
  ({ name }) =>
    name.startsWith("csi-snap-")
      ? { why: "it is a snapshot of ceph-csi", next: "import the volume, and make a VolumeSnapshot of it" }
      : undefined,
  (image, { pool, made }) => {
    const name = importedName(pool, image);
    return made.volume !== undefined && image.name !== `mooring.${name}`
      ? {
          why: `there is a Volume ${name}, and its image has another name`,
          next: `kubectl get volumes.storage.mooring.dev ${name} -o yaml`,
        }
      : undefined;
  },
  ({ csi }, { persistentVolumes }) =>
    csi?.encrypted === true || persistentVolumes.some(isEncrypted)
      ? { why: "ceph-csi has encrypted it, with a key that Mooring does not have" }
      : undefined,
  ({ csi, content }) =>
    csi?.encrypted !== true && content.kind === "LUKS" ? { why: "it is encrypted (LUKS)" } : undefined,
  (_, { persistentVolumes }) =>
    persistentVolumes.length > 1
      ? {
          why: `several PersistentVolumes are this image: ${persistentVolumes.map(({ metadata }) => metadata.name).join(", ")}`,
          next: "delete all but one, with persistentVolumeReclaimPolicy Retain",
        }
      : undefined,
  // Once it has a PersistentVolume of ours, it was decided which one it is.
  (_, { ofUnknownCluster: [unclear], made }) => {
    if (unclear === undefined || made.persistentVolume !== undefined) return undefined;
    const { name, clusterID } = unclear;
    const of = clusterID === undefined ? "which does not name its cluster" : `of the cluster ${clusterID}`;
    return {
      why: `the PersistentVolume ${name}, ${of}, was declared by hand, there are others of other clusters, and nothing shows which one this is`,
      next: "--cluster-id ID: what ceph-csi's configuration calls the cluster of this pool",
    };
  },
  (image, { pool, others }) => {
    const name = `mooring.${importedName(pool, image)}`;
    return image.name !== name && others.has(name)
      ? { why: `there is an image ${name} already`, next: `see what it is: rbd info WHERE/${name}` }
      : undefined;
  },
  (image, { pool, made: { persistentVolume } }) => {
    const name = importedName(pool, image);
    const { driver, volumeHandle } = persistentVolume?.spec?.csi ?? {};
    return persistentVolume !== undefined && (driver !== "csi.mooring.dev" || volumeHandle !== name)
      ? {
          why: `there is a PersistentVolume ${persistentVolume.metadata.name} already, of another volume`,
          next: `kubectl get pv ${persistentVolume.metadata.name} -o yaml`,
        }
      : undefined;
  },
  (image, context) => {
    const { claim, persistentVolumes, made } = context;
    const bound = claim?.spec?.volumeName;
    const known = [...persistentVolumes, made.persistentVolume].map((each) => each?.metadata.name);
    return claim !== undefined && !known.includes(bound)
      ? {
          why: `the claim ${claim.metadata.namespace}/${claim.metadata.name} is not ${nameOf(image, context)}'s any more: it has ${bound ?? "no volume yet"}`,
          next: `see what made it; then delete it: kubectl delete pvc -n ${claim.metadata.namespace} ${claim.metadata.name}`,
        }
      : undefined;
  },
  (_, { pods }) =>
    pods.length > 0
      ? {
          why: `pods use its claim: ${pods.join(", ")}`,
          next: "stop them, and what starts them again: kubectl scale --replicas=0",
        }
      : undefined,
  (_, { persistentVolumes: [described] }) =>
    described?.spec?.accessModes?.some((mode) => mode === "ReadWriteMany" || mode === "ReadOnlyMany") === true
      ? { why: "several nodes use it at once: such volumes are not imported" }
      : undefined,
  (_, { attachedTo }) =>
    attachedTo.length > 0
      ? { why: `it is attached to ${attachedTo.join(", ")}`, next: "stop the pods that use it" }
      : undefined,
  ({ watchers }, { attachedTo }) =>
    watchers.length > 0 && attachedTo.length === 0
      ? {
          why: `${watchers.join(", ")} has it open`,
          next: "stop what uses it; a client that was killed counts for half a minute",
        }
      : undefined,
  ({ features }, { where }) => {
    const missing = NEEDED.filter((feature) => !features.includes(feature));
    if (missing.length === 0) return undefined;
    const enable = `rbd feature enable ${where}/IMAGE ${missing.join(" ")}`;
    return {
      why: `it lacks the features ${missing.join(", ")}`,
      next: missing.includes("layering") ? "copy it into a new image: rbd deep cp" : enable,
    };
  },
  ({ features }, { where }) => {
    const foreign = features.filter((feature) => !isImageFeature(feature) && !MARKS.includes(feature));
    if (foreign.length === 0) return undefined;
    return {
      why: `it has features that no image of Mooring's has: ${foreign.join(", ")}`,
      next:
        foreign.join() === "journaling"
          ? `rbd feature disable ${where}/IMAGE journaling`
          : "copy it into a new image: rbd deep cp",
    };
  },
  ({ size }, { where }) =>
    size % SECTOR === 0 && size > 0
      ? undefined
      : {
          why: `its ${size} bytes are no multiple of ${SECTOR}`,
          next: `rbd resize ${where}/IMAGE --size ${Math.max(1, Math.ceil(size / SECTOR)) * SECTOR}B`,
        },
  ({ content }, context) => (content.kind === "LUKS" ? undefined : wrongContent(content, context)),
];

/** Everything that is in the way. */
export function obstaclesOf(image: SurveyedImage, context: ImportContext): Obstacle[] {
  const found = RULES.map((rule) => rule(image, context)).filter((obstacle) => obstacle !== undefined);
  return found.map(({ why, next }) => ({
    why,
    ...(next === undefined
      ? {}
      : { next: next.replace("WHERE", context.where).replace("/IMAGE", `/${image.name}`) }),
  }));
}

function isEncrypted({ spec }: ImportContext["persistentVolumes"][number]): boolean {
  return spec?.csi?.volumeAttributes?.["encrypted"] === "true";
}

/** Whether what it is said to have is what it begins with. A device may have anything; an empty one gets its file system from Mooring. */
function wrongContent(content: Superblock, context: ImportContext): Obstacle | undefined {
  const [expected, { kind }] = [contentOf(context, content), content];
  const asked = describedBy(context)?.spec?.csi?.fsType;
  if (expected === undefined && asked !== undefined)
    return { why: `it is said to have ${asked}, which Mooring does not have` };
  if (expected === undefined) {
    const next = "--content block, ext4, xfs or btrfs";
    return { why: `nobody has said what is in it, and it begins with ${kind}`, next };
  }
  if (expected === "block" || kind === expected || kind === "nothing") return undefined;
  return { why: `it is said to have ${expected}, and begins with ${kind}` };
}
