import { type Condition, defineResource, type KubeObject, type LabelSelector } from "@mooring/store";

/** What becomes of the group on the storage system when its VolumeGroup is deleted. Its volumes are never meant. */
export type GroupDeletionPolicy = "Delete" | "Retain";
/** What happens when an administrator changes the membership on the storage system. */
export type DriftPolicy = "Repair" | "Report";

/** Which groups a driver makes, and how they are treated. Copied into the content, so that the class may go. */
export interface VolumeGroupClass extends KubeObject {
  driver: string;
  deletionPolicy: GroupDeletionPolicy;
  /** Given to the driver; keys with `csi.storage.k8s.io/` are for us. */
  parameters?: Record<string, string>;
  /** Only this very value deletes the claims and volumes of a group together with it. */
  deleteMembers?: "true" | "false";
  /** Default `Repair`. */
  driftPolicy?: DriftPolicy;
  /** Default 100. */
  maxMembers?: number;
}

/**
 * - `Waiting`: the claim will be a member when it can be: the message names what it lacks.
 * - `Joining`, `Joined`: it is protected, and its volume is about to be in the group, or is.
 * - `Leaving`: the volume is taken out of the group, then the claim is released.
 * - `LeftOut`: it cannot be a member now; the message has the reason. The others are not delayed.
 * - `Lost`: its PersistentVolume is gone. The volume stays in the group until the claim is deleted.
 * - `Drifted`: an administrator has taken it out of the group on the storage system, and the policy is to report that.
 */
export type MemberState = "Waiting" | "Joining" | "Joined" | "Leaving" | "LeftOut" | "Lost" | "Drifted";

/** One claim that is, or should be, in the group: by name, never as a whole object. */
export interface GroupMember {
  claimName: string;
  state: MemberState;
  /** One word in CamelCase. */
  reason: string;
  message: string;
  /** Of the volume, once the group has the claim. */
  volumeHandle?: string;
}

/** A group snapshot of the group that is being made. */
export interface FrozenFor {
  name: string;
  uid: string;
  /** Counts from 0: what is granted to one attempt is not granted to the next. */
  attempt: number;
  /** RFC 3339: when it was granted. */
  since?: string;
  /** It took too long: the group goes on, and the group snapshot has to ask again. */
  expired?: boolean;
}

/** A member that has not grown to the size of its group yet, or cannot. */
export interface GrowingMember {
  claimName: string;
  /** `Growing`, `NodePending` (the volume has grown, its file system does when a Pod uses it) or `Refused`. */
  reason: "Growing" | "NodePending" | "Refused";
  message: string;
}

/** Volumes that are to be handled as one. */
export interface VolumeGroup extends KubeObject {
  spec: {
    /** Default: the class that is marked as default. Not with `source.volumeGroupContentName`. */
    volumeGroupClassName?: string;
    source: {
      /** A group that exists on the storage system, as a content that an administrator has made. */
      volumeGroupContentName?: string;
      /** Claims of the own namespace. An empty selector selects none. */
      selector?: LabelSelector;
      /** Claims of the own namespace, with or without the selector's labels. */
      claimNames?: string[];
    };
    /** Quantity: the least size of every member. A smaller one grows, none ever shrinks. */
    memberSize?: string;
  };
  status?: {
    boundVolumeGroupContentName?: string;
    /** RFC 3339: when the group was first seen on the storage system. */
    creationTime?: string;
    ready: boolean;
    /** Volumes that are in the group now. */
    memberCount: number;
    observedGeneration?: number;
    members?: GroupMember[];
    /** Claims that are left out and not listed because there are too many of them. */
    omitted?: number;
    /** Group snapshots that are being made: until then no claim joins or leaves. */
    frozenFor?: FrozenFor[];
    /** With `spec.memberSize`: how many of the members have that size, and what the others wait for. */
    growth?: { size: string; grown: number; total: number; waiting: GrowingMember[] };
    /** `Bound`, `Ready`, `MembersSynced`, `Degraded`, and with `spec.memberSize` `VolumesExpanded` and `Expanded`. */
    conditions?: Condition[];
  };
}

/** A group on the storage system. */
export interface VolumeGroupContent extends KubeObject {
  spec: {
    driver: string;
    deletionPolicy: GroupDeletionPolicy;
    deleteMembers?: "true" | "false";
    /** Default: `Repair` for groups that we have made, `Report` for groups that were brought in. */
    driftPolicy?: DriftPolicy;
    /** Default 100. */
    maxMembers?: number;
    volumeGroupClassName?: string;
    /** Parameters for the driver, as they were when the group was asked for. */
    parameters?: Record<string, string>;
    /** Where the secret of the calls is. */
    secretRef?: { name: string; namespace: string };
    /** The VolumeGroup that it is for; the uid is set when they are bound. */
    volumeGroupRef: { name: string; namespace: string; uid?: string };
    /** Of a group that was brought in. */
    source?: { volumeGroupHandle: string };
  };
  status?: {
    /** The id of the driver. Only ours to write: a wrong one would touch another group. */
    volumeGroupHandle?: string;
    volumeGroupContext?: Record<string, string>;
    /** The volumes that were in the group when the driver was last asked, sorted. Absent: never asked. */
    volumeHandles?: string[];
    /** What differs from the membership we have set, and is left so by policy. */
    drift?: { missing: string[]; extra: string[] };
    creationTime?: string;
    ready?: boolean;
    /** `Bound`, `Ready` and `Degraded`. Who is to be a member only the VolumeGroup says. */
    conditions?: Condition[];
  };
}

const kind = <T extends KubeObject>(name: string, plural: string, namespaced: boolean) =>
  defineResource<T>({ group: "storage.mooring.dev", version: "v1alpha1", kind: name, plural, namespaced });

/** Served at `/apis/storage.mooring.dev/v1alpha1/namespaces/NAMESPACE/volumegroups`. */
export const VolumeGroups = kind<VolumeGroup>("VolumeGroup", "volumegroups", true);
/** Served at `/apis/storage.mooring.dev/v1alpha1/volumegroupcontents`; cluster-wide. */
export const VolumeGroupContents = kind<VolumeGroupContent>(
  "VolumeGroupContent",
  "volumegroupcontents",
  false,
);
/** Served at `/apis/storage.mooring.dev/v1alpha1/volumegroupclasses`; cluster-wide. */
export const VolumeGroupClasses = kind<VolumeGroupClass>("VolumeGroupClass", "volumegroupclasses", false);

/** Members of one group where neither class nor content sets how many. */
export const DEFAULT_MAX_MEMBERS = 100;
