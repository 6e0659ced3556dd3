import {
  ENGINE_FINALIZER,
  MOORING_API_VERSION,
  type SectorSize,
  type SurveyedImage,
  sectorSizeArguments,
  type Volume,
} from "@mooring/engine";
import { defined, formatQuantity, type PersistentVolume, type PersistentVolumeClaim } from "@mooring/store";
import { CLAIM, claimFor, claimOf, IMAGE, POLICY } from "./annotations.ts";
import {
  contentOf,
  describedBy,
  type ImportContext,
  importedName,
  importedPersistentVolume,
  nameOf,
} from "./context.ts";

/** One thing that an import, or the way back from one, does: a command of `rbd`, or a change of an object. */
export type ImportStep =
  | { do: "set-sector-size" | "rename-image" | "rename-back" | "remove-sector-size"; run: string[] }
  | {
      do: "create-persistent-volume" | "create-volume" | "create-claim";
      create: Volume | PersistentVolume | PersistentVolumeClaim;
    }
  | { do: "retain" | "restore-policy"; persistentVolume: string; patch: object }
  | { do: "delete-claim" | "delete-volume" | "delete-persistent-volume"; delete: Named };

/** An object that is to go. */
export interface Named {
  kind: "PersistentVolumeClaim" | "Volume" | "PersistentVolume";
  namespace?: string;
  name: string;
  uid: string;
}

/**
 * What is left to do, in this order; whatever an import was killed in the middle of, what there is shows it. First the PersistentVolume
 * of ceph-csi is retained: nothing may delete the image any more. Then the new one, which says what is in the image: once that has
 * another name, nothing of ceph-csi leads to it. The Volume after the image, since Mooring makes an image for one that has none. The
 * claim last: only its deletion cannot be taken back.
 */
export function importSteps(image: SurveyedImage, context: ImportContext): ImportStep[] {
  const name = importedName(context.pool, image);
  const { made, where } = context;
  const [old] = context.persistentVolumes;
  const steps: ImportStep[] = [];
  const imported = `mooring.${name}`;
  // Its PersistentVolume was there before that: whoever has deleted it since does not want it.
  if (image.name === imported && made.volume !== undefined && made.persistentVolume === undefined) return [];
  if (old !== undefined && old.spec?.persistentVolumeReclaimPolicy !== "Retain") steps.push(retain(old));
  if (made.persistentVolume === undefined)
    steps.push({ do: "create-persistent-volume", create: persistentVolumeOf(name, image, context) });
  if (image.name !== imported) {
    const size = sectorSizeOf(image, context);
    if (size !== image.sectorSize)
      steps.push({
        do: "set-sector-size",
        run: ["rbd", ...sectorSizeArguments(`${where}/${image.name}`, size)],
      });
    steps.push({
      do: "rename-image",
      run: ["rbd", "rename", `${where}/${image.name}`, `${where}/${imported}`],
    });
  }
  if (made.volume === undefined) steps.push({ do: "create-volume", create: volumeOf(name, image, context) });
  return [...steps, ...claimSteps(name, image, context)];
}

function retain({ metadata: { name }, spec }: PersistentVolume): ImportStep {
  const before = spec?.persistentVolumeReclaimPolicy ?? "Delete";
  const patch = {
    metadata: { annotations: { [POLICY]: before } },
    spec: { persistentVolumeReclaimPolicy: "Retain" },
  };
  return { do: "retain", persistentVolume: name, patch };
}

/** The claim that the volume gets: as the import has kept it, else made of the one that there is. */
export function wantedClaim(
  name: string,
  { size }: SurveyedImage,
  { made, claim, storageClass }: ImportContext,
): PersistentVolumeClaim | undefined {
  if (made.persistentVolume !== undefined) return claimOf(made.persistentVolume);
  const persistentVolume = importedPersistentVolume(name);
  return claim && claimFor(claim, { persistentVolume, storageClass, size });
}

function claimSteps(name: string, image: SurveyedImage, context: ImportContext): ImportStep[] {
  const { claim } = context;
  const wanted = wantedClaim(name, image, context);
  if (wanted === undefined || claim?.spec?.volumeName === wanted.spec?.volumeName) return [];
  const create: ImportStep = { do: "create-claim", create: wanted };
  if (claim === undefined) return [create];
  const { namespace, name: claimName, uid = "" } = claim.metadata;
  const kind = "PersistentVolumeClaim";
  return [{ do: "delete-claim", delete: { kind, name: claimName, uid, ...defined({ namespace }) } }, create];
}

/**
 * The kernel's rbd shows sectors of 512 bytes to whoever writes: what counts in such is not mounted on larger ones. Of a block volume
 * nobody knows what its user relies on.
 */
export function sectorSizeOf({ content }: SurveyedImage, context: ImportContext): SectorSize {
  const { kind, unit = 4096 } = content;
  if (kind === "nothing") return 4096;
  if (contentOf(context, content) === "block" && kind !== "partitions") return 512;
  return unit < 4096 ? 512 : 4096;
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
  const claim = wantedClaim(name, image, context);
  const { namespace, name: claimName } = claim?.metadata ?? {};
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: {
      name: importedPersistentVolume(name),
      annotations: {
        [IMAGE]: nameOf(image, context),
        ...(claim === undefined ? {} : { [CLAIM]: JSON.stringify(claim) }),
      },
    },
    spec: {
      accessModes: [...accessModes],
      capacity: { storage: formatQuantity(BigInt(size)) },
      csi: { driver: "csi.mooring.dev", volumeHandle: name, ...defined({ fsType }) },
      persistentVolumeReclaimPolicy: "Retain",
      storageClassName: context.storageClass,
      volumeMode: fsType === undefined ? "Block" : "Filesystem",
      ...defined({ mountOptions }),
      // No other claim gets it.
      ...(claim === undefined
        ? {}
        : { claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", name: claimName, namespace } }),
    } as PersistentVolume["spec"] & object,
  };
}
