import {
  apiVersionOf,
  defined,
  type KubeObject,
  ownerReferenceTo,
  type VolumeGroupSnapshot,
  VolumeGroupSnapshots,
} from "@mooring/store";
import { SNAPSHOT_OF_GROUP } from "../common/volume-group-names.ts";
import { CLONE_UID, type VolumeGroupClone } from "../kube/group-clone.ts";
import { type VolumeGroupRestore, VolumeGroupRestores } from "../kube/group-restore.ts";
import type { VolumeGroup } from "../kube/volume-group.ts";

/** Name of the internal group snapshot and restore: the same in every attempt, and of no other clone. */
export const partNameOf = ({ metadata }: VolumeGroupClone): string => `clone-${metadata.uid}`;

/** Name of the new group. */
export const groupNameOf = ({ metadata, spec }: VolumeGroupClone): string =>
  spec.volumeGroup?.name ?? metadata.name;

/** Whether an internal object is of this very clone. */
export function isPartOf({ metadata }: KubeObject, clone: VolumeGroupClone): boolean {
  return metadata.annotations?.[CLONE_UID] === clone.metadata.uid;
}

function metadataOf(clone: VolumeGroupClone, annotations: Record<string, string> = {}) {
  const { namespace, uid = "" } = clone.metadata;
  return {
    name: partNameOf(clone),
    ...defined({ namespace }),
    annotations: { ...annotations, [CLONE_UID]: uid },
    ownerReferences: [ownerReferenceTo(clone, { controller: true })],
  };
}

/** Of all members at one moment. */
export function snapshotFor(clone: VolumeGroupClone): VolumeGroupSnapshot {
  const { source, volumeGroupSnapshotClassName } = clone.spec;
  return {
    apiVersion: apiVersionOf(VolumeGroupSnapshots),
    kind: "VolumeGroupSnapshot",
    metadata: metadataOf(clone, { [SNAPSHOT_OF_GROUP]: source.volumeGroupName }),
    spec: { source: { selector: {} }, ...defined({ volumeGroupSnapshotClassName }) },
  };
}

/** Of that into the new group, whose class is the source's unless the clone names one. */
export function restoreFor(clone: VolumeGroupClone, source: VolumeGroup | undefined): VolumeGroupRestore {
  const { claimNameTemplate, defaults, members, volumeGroup } = clone.spec;
  const volumeGroupClassName = volumeGroup?.volumeGroupClassName ?? source?.spec.volumeGroupClassName;
  const template = claimNameTemplate ?? `{{claim}}-${clone.metadata.name}`;
  return {
    apiVersion: apiVersionOf(VolumeGroupRestores),
    kind: "VolumeGroupRestore",
    metadata: metadataOf(clone),
    spec: {
      source: { volumeGroupSnapshotName: partNameOf(clone) },
      claimNameTemplate: template,
      ...defined({ defaults, members }),
      volumeGroup: { name: groupNameOf(clone), ...defined({ volumeGroupClassName }) },
    },
  };
}
