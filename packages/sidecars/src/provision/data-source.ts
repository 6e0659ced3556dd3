import type {
  PersistentVolume,
  PersistentVolumeClaim,
  VolumeSnapshot,
  VolumeSnapshotContent,
} from "@mooring/store";
import { parseQuantity } from "@mooring/store";
import type { CreateVolumeArguments, SourceRef } from "../common/create-volume/intent.ts";
import { allowsModeChange, modeChangeNeeds } from "../common/mode-change.ts";
import { SNAPSHOT_SOURCE_FINALIZER } from "../common/names.ts";

/** The objects behind a data source, as they were read; what does not exist is absent. */
export interface SourceObjects {
  snapshot?: VolumeSnapshot;
  content?: VolumeSnapshotContent;
  claim?: PersistentVolumeClaim;
  volume?: PersistentVolume;
}

/** The data that a new volume begins with, or why it cannot have them. */
export type SourceResult =
  | { volumeContentSource: NonNullable<CreateVolumeArguments["volumeContentSource"]>; ref: SourceRef }
  /** `pending`: it is being made, or may be about to be. */
  | { error: string; pending?: true };

const notYet = (error: string): SourceResult => ({ error, pending: true });

const modeOf = (claim: PersistentVolumeClaim): string => claim.spec?.volumeMode ?? "Filesystem";
const requestOf = (claim: PersistentVolumeClaim): bigint =>
  parseQuantity(claim.spec?.resources?.requests?.storage ?? "0");

/** Checks a snapshot as a source, in the order in which users see the errors elsewhere. */
export function snapshotSource(
  claim: PersistentVolumeClaim,
  name: string,
  { snapshot, content }: SourceObjects,
  { driver, preventModeConversion }: { driver: string; preventModeConversion: boolean },
): SourceResult {
  if (snapshot === undefined) return notYet(`snapshot ${name} does not exist`);
  const { namespace = "", uid = "", deletionTimestamp, finalizers = [] } = snapshot.metadata;
  if (deletionTimestamp !== undefined && !finalizers.includes(SNAPSHOT_SOURCE_FINALIZER))
    return { error: `snapshot ${name} is being deleted` };
  const contentName = snapshot.status?.boundVolumeSnapshotContentName;
  if (!contentName) return notYet(`snapshot ${name} is not bound`);
  if (content === undefined)
    return notYet(`snapshot content ${contentName} of snapshot ${name} does not exist`);
  const ref = content.spec.volumeSnapshotRef;
  if (ref.uid !== uid || ref.namespace !== namespace || ref.name !== name)
    return { error: `snapshot ${name} and its content ${contentName} do not refer to each other` };
  if (content.spec.driver !== driver)
    return { error: `snapshot ${name} is of driver ${content.spec.driver}, the claim is for ${driver}` };
  if (snapshot.status?.readyToUse !== true) return notYet(`snapshot ${name} is not ready to use`);
  const snapshotId = content.status?.snapshotHandle;
  if (!snapshotId) return notYet(`snapshot content ${contentName} has no snapshot handle`);
  const { restoreSize } = snapshot.status;
  if (restoreSize !== undefined && requestOf(claim) < parseQuantity(restoreSize))
    return { error: `the requested size is smaller than snapshot ${name}, which restores to ${restoreSize}` };
  const error = preventModeConversion ? modeConversionError(claim, content) : undefined;
  if (error !== undefined) return { error };
  return { volumeContentSource: { snapshotId }, ref: { kind: "VolumeSnapshot", namespace, name, uid } };
}

function modeConversionError(
  claim: PersistentVolumeClaim,
  content: VolumeSnapshotContent,
): string | undefined {
  const { sourceVolumeMode } = content.spec;
  if (sourceVolumeMode === undefined || sourceVolumeMode === modeOf(claim)) return undefined;
  if (allowsModeChange(content)) return undefined;
  const both = `the snapshot is of a volume in mode ${sourceVolumeMode}, the claim wants ${modeOf(claim)}`;
  return `${both}: ${modeChangeNeeds(content)}`;
}

/** Checks another claim as a source. */
export function cloneSource(
  claim: PersistentVolumeClaim,
  name: string,
  { claim: source, volume }: SourceObjects,
  driver: string,
): SourceResult {
  if (source === undefined) return notYet(`source claim ${name} does not exist`);
  if (source.status?.phase !== "Bound") return notYet(`source claim ${name} is not bound`);
  if (source.metadata.deletionTimestamp !== undefined)
    return { error: `source claim ${name} is being deleted` };
  if (claim.spec?.storageClassName === undefined || source.spec?.storageClassName === undefined)
    return { error: "cloning needs a storage class name on the claim and on its source" };
  if (requestOf(claim) < requestOf(source))
    return { error: `the requested size is smaller than source claim ${name}` };
  const volumeName = source.spec.volumeName ?? "";
  if (volume === undefined) return notYet(`volume ${volumeName} of source claim ${name} does not exist`);
  if (volume.spec?.csi === undefined) return { error: `volume ${volumeName} is not a CSI volume` };
  if (volume.spec.csi.driver !== driver)
    return {
      error: `volume ${volumeName} is of driver ${volume.spec.csi.driver}, the claim is for ${driver}`,
    };
  const { namespace = "", uid = "" } = source.metadata;
  const owner = volume.spec.claimRef;
  if (owner?.uid !== uid || owner.namespace !== namespace || owner.name !== name)
    return { error: `volume ${volumeName} does not belong to source claim ${name}` };
  if (volume.status?.phase !== "Bound") return notYet(`volume ${volumeName} is not bound`);
  if ((volume.spec.volumeMode ?? "Filesystem") !== modeOf(claim))
    return { error: `source claim ${name} and the claim have different volume modes` };
  return {
    volumeContentSource: { volumeId: volume.spec.csi.volumeHandle },
    ref: { kind: "PersistentVolumeClaim", namespace, name, uid },
  };
}
