import { defineResource, type KubeObject } from "@mooring/store";
import { MOORING_GROUP, MOORING_VERSION } from "./names.ts";

/** Volumes in one set at most: as many as one group snapshot copies at one moment. */
export const MAX_SET_MEMBERS = 100;

/**
 * What the storage side records of a volume group: the record behind `volumegroup.Controller`. It is no `VolumeGroup`,
 * which is an operator's object in a namespace and may be about any driver's volumes. Cluster scoped; the name is the
 * CSI volume group id `vg-<uuid>`. One write of it is one change of the membership: there is no half of one.
 */
export interface VolumeSet extends KubeObject {
  spec: VolumeSetSpec;
}

/** The volumes of a group, and the change of them that is under way. */
export interface VolumeSetSpec {
  /**
   * Names of the Volumes, sorted. One that does not exist any more, or whose `spec.group` is another one, is none: it
   * was taken away behind the driver's back.
   */
  members: string[];
  /** Counts the changes of the membership. 0: the group is still being made, and no caller has its id. */
  generation: number;
  /** Only volumes of this Pool may be members. */
  pool?: string;
  /** At most so many members; default 100. */
  maxVolumes?: number;
  /** `false`: deleting the group never deletes a volume, it has to be empty before. Default true. */
  deleteVolumes?: boolean;
  /** What is about to be done. A call in whose way it is may take it out, and then it is not done. */
  change?: VolumeSetChange;
  /** It is decided: the members are being deleted, then the record is. */
  deleted?: boolean;
  /** What CreateVolumeGroup was called with, so that a repeat can be compared with it. */
  request?: Record<string, unknown>;
}

/**
 * A change of a group's members, written before the first volume is touched, so that a second attempt ends it.
 */
export interface VolumeSetChange {
  /** Of this one attempt. */
  id: string;
  /** The members that there are to be; absent: the group is to be deleted. */
  members?: string[];
}

/** Served at `/apis/storage.mooring.dev/v1alpha1/volumesets`. */
export const VolumeSets = defineResource<VolumeSet>({
  group: MOORING_GROUP,
  version: MOORING_VERSION,
  kind: "VolumeSet",
  plural: "volumesets",
  namespaced: false,
});
