import type { VolumeGroup } from "../kube/volume-group.ts";

const PREFIX = "storage.mooring.dev/";

/** On a VolumeGroup: it has, or may have, a content and members. */
export const VOLUME_GROUP_FINALIZER = `${PREFIX}volume-group`;
/** On a content: there is, or may be, a group on the storage system. */
export const VOLUME_GROUP_CONTENT_FINALIZER = `${PREFIX}volume-group-content`;
/** On a claim: its volume is, or may be, in a group. */
export const MEMBER_FINALIZER = `${PREFIX}volume-group-member`;
/** On a claim: whose member it is, `<name>/<uid>/<volume handle>`. Set together with the finalizer. */
export const MEMBER_OF = `${PREFIX}volume-group-member`;
/** On a claim, by its owner: the name of the group that it is to be a member of, and of no other. */
export const WANTED_GROUP = `${PREFIX}volume-group`;
/** On a VolumeGroupSnapshot: the VolumeGroup that it is of. Its selector is empty then. */
export const SNAPSHOT_OF_GROUP = `${PREFIX}volume-group`;
/** On such a VolumeGroupSnapshot: how often its snapshot was begun anew, so that a freeze of an earlier attempt is not taken for one of this. */
export const FREEZE_ATTEMPT = `${PREFIX}freeze-attempt`;
/** On a VolumeGroup: its driver, so that the group does not need its class to end. Set together with the finalizer. */
export const GROUP_DRIVER = `${PREFIX}volume-group-driver`;
/** On a content: a CreateVolumeGroup call may have had an effect. Written before the call. */
export const VOLUME_GROUP_BEING_CREATED = `${PREFIX}volume-group-being-created`;
/** On a VolumeGroupClass: groups that name no class get this one. */
export const DEFAULT_VOLUME_GROUP_CLASS = `${PREFIX}is-default-class`;

/** Finalizers by which operators of other makers protect the members of their groups. */
export const FOREIGN_FINALIZERS = [
  "volumegroup.storage.ibm.io/pvc-protection",
  "replication.storage.openshift.io",
] as const;

/** The content's name follows from the group's UID, so that a second attempt meets the first. */
export const contentNameOf = ({ metadata }: VolumeGroup): string => `vgcontent-${metadata.uid}`;
/** The driver's name of a group until it has given an id. */
export const backendNameOf = (groupUid: string): string => `volumegroup-${groupUid}`;
