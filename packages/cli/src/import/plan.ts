import {
  ENGINE_FINALIZER,
  IMAGE_FEATURES,
  MOORING_API_VERSION,
  type SurveyedImage,
  type Volume,
} from "@mooring/engine";
import { defined, type PersistentVolume } from "@mooring/store";
import {
  contentOf,
  describedBy,
  type ImportContext,
  importedName,
  importedPersistentVolume,
} from "./context.ts";
import { type Obstacle, obstaclesOf } from "./obstacles.ts";

/** What an import of one image would do. Nothing of it is done. */
export interface ImportPlan {
  image: string;
  size: number;
  /** What ceph-csi calls it: its PersistentVolume, else its request. */
  from?: { persistentVolume?: string; claim?: string; request?: string };
  /** `ready`: nothing is in the way. `blocked`: something is. `imported`: it is Mooring's. */
  state: "ready" | "blocked" | "imported";
  obstacles: Obstacle[];
  /** What stays as it is and may surprise. */
  notes: string[];
  /** What it would do, in this order. Empty unless it is ready. */
  steps: ImportStep[];
}

/** One thing that an import does: a command in the cluster, or an object that it makes. */
export type ImportStep = { run: string } | { create: Volume | PersistentVolume };

/** What an import of this image would do, or what is in its way. Pure. */
export function planImport(image: SurveyedImage, context: ImportContext): ImportPlan {
  const name = importedName(context.pool, image);
  const plan = {
    ...{ image: image.name, size: image.size, notes: notesOf(image, context) },
    ...fromOf(image, context),
  };
  if (image.name === `mooring.${name}` && context.made.volume !== undefined)
    return { ...plan, state: "imported", obstacles: [], steps: [] };
  const obstacles = obstaclesOf(image, context);
  if (obstacles.length > 0) return { ...plan, state: "blocked", obstacles, steps: [] };
  return { ...plan, state: "ready", obstacles, steps: stepsOf(name, image, context) };
}

/**
 * Killed between any two of them, it leaves what the next import goes on with. First the PersistentVolume, which says what is in the
 * image: once that has another name, nothing of ceph-csi leads to it. Last the Volume: Mooring makes an image for one that has none.
 */
function stepsOf(name: string, image: SurveyedImage, context: ImportContext): ImportStep[] {
  const { where, made } = context;
  const rename = `rbd rename ${where}/${image.name} ${where}/mooring.${name}`;
  return [
    ...(made.persistentVolume === undefined ? [{ create: persistentVolumeOf(name, image, context) }] : []),
    ...(image.name === `mooring.${name}` ? [] : [{ run: rename }]),
    { create: volumeOf(name, image, context) },
  ];
}

function fromOf(
  { csi }: SurveyedImage,
  { persistentVolumes: [described] }: ImportContext,
): Pick<ImportPlan, "from"> {
  const claim = described?.spec?.claimRef;
  const from = defined({
    persistentVolume: described?.metadata.name,
    claim: claim && `${claim.namespace}/${claim.name}`,
    request: csi?.request,
  });
  return Object.keys(from).length === 0 ? {} : { from };
}

function volumeOf(name: string, image: SurveyedImage, context: ImportContext): Volume {
  const { size } = image;
  const content = contentOf(context, image.content);
  const alone = describedBy(context)?.spec?.accessModes?.includes("ReadWriteOncePod") === true;
  return {
    apiVersion: MOORING_API_VERSION,
    kind: "Volume",
    metadata: { name, finalizers: [ENGINE_FINALIZER] },
    spec: {
      ...{ size, pool: context.pool, accessMode: alone ? "rwop" : "rwo" },
      ...(content === "block" || content === undefined
        ? { volumeMode: "Block" }
        : { volumeMode: "Filesystem", fsType: content }),
    },
  };
}

/** Retained, whatever the one of ceph-csi said: deleting an object must not delete what came from elsewhere. */
function persistentVolumeOf(name: string, image: SurveyedImage, context: ImportContext): PersistentVolume {
  const { size } = image;
  const content = contentOf(context, image.content);
  const { accessModes = ["ReadWriteOnce"], mountOptions } = describedBy(context)?.spec ?? {};
  const fsType = content === "block" ? undefined : content;
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: importedPersistentVolume(name) },
    spec: {
      accessModes: [...accessModes],
      capacity: { storage: String(size) },
      csi: { driver: "csi.mooring.dev", volumeHandle: name, ...defined({ fsType }) },
      persistentVolumeReclaimPolicy: "Retain",
      storageClassName: "",
      volumeMode: fsType === undefined ? "Block" : "Filesystem",
      ...defined({ mountOptions }),
    },
  };
}

function notesOf(
  { group, parent, snapshots, csi, features }: SurveyedImage,
  { persistentVolumes }: ImportContext,
): string[] {
  const [described] = persistentVolumes;
  const fewer = IMAGE_FEATURES.filter((feature) => !features.includes(feature));
  const claim = described?.spec?.claimRef;
  return [
    ...(snapshots > 0
      ? [
          `its ${snapshots} RBD snapshots stay; they become no VolumeSnapshots, and while there is one Ceph keeps the image`,
        ]
      : []),
    ...(parent === undefined ? [] : [`it is a clone of ${parent}, which has to stay`]),
    ...(group === undefined ? [] : [`it is in the RBD group ${group}, and is not deleted while it is`]),
    ...(fewer.length > 0 ? [`it has no ${fewer.join(", ")}, and gets none`] : []),
    ...(csi === undefined
      ? []
      : ["the journal of ceph-csi keeps its names; ceph-csi finds no image by them any more"]),
    ...(csi?.whole === false ? ["the journal of ceph-csi has no name that leads to it"] : []),
    ...(claim === undefined
      ? []
      : [
          `the claim ${claim.namespace}/${claim.name} stays ceph-csi's: make one of another name for the new volume`,
        ]),
  ];
}
