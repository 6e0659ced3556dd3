import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from "@mooring/store";
import type { FrozenFor, VolumeGroup, VolumeGroupClass, VolumeGroupContent } from "../kube/volume-group.ts";
import type { GrowthRefusal } from "./growth-refusals.ts";

/** A claim that a group may have to do with. */
export interface Candidate {
  claim: PersistentVolumeClaim;
  volume: PersistentVolume | undefined;
  /** Of the claim; read only for a group that asks for a size. */
  storageClass?: StorageClass | undefined;
  /** Name of another group that is there and has the claim. */
  owner?: string;
}

/** What the driver has returned about a group since this process began. */
export interface StorageView {
  /** The driver was asked in this life, and nothing has been left unclear since. */
  certain: boolean;
  /** The time between two reads is over. */
  due: boolean;
  /** Milliseconds until then. */
  dueMs: number;
  /** Not on record yet. */
  result?: GroupResult;
  /** The driver returns that there is no such group. */
  gone: boolean;
  /** It is so for certain: a list with many pages may miss a group, a response about this one group does not. */
  provenGone: boolean;
  /** By call: the last one failed. */
  failures: ReadonlyMap<CallName, CallTrouble>;
  /** How many volumes may be added by one call. */
  limit: number;
  /** Volume handle -> why the driver does not take it, and milliseconds until it is asked again (may be Infinity). */
  refused: ReadonlyMap<string, { message: string; backoffMs: number }>;
  /** Whole sets (as `requestKeyOfSet`) that the driver has refused for good. */
  impossible: ReadonlySet<string>;
}

/** A claim, and the volume that it has. */
export interface ClaimOfVolume {
  claim: PersistentVolumeClaim;
  handle: string;
}

/** The calls about groups, each with a back-off of its own. */
export type CallName = "create" | "get" | "modify" | "delete";

/** The last failure of a call about a group. */
export interface CallTrouble {
  /** What was asked: another request may be sent at once. */
  requestKey: string;
  message: string;
  /** Milliseconds until the same may be asked again; Infinity: never. */
  backoffMs: number;
  /** Of a creation: it proves that nothing was made. */
  conclusive: boolean;
}

/** What the driver returned of a group. */
export interface GroupResult {
  handle: string;
  context: Record<string, string>;
  /** Sorted. */
  volumeHandles: string[];
}

/** Everything that the next step for a VolumeGroup depends on. */
export interface VolumeGroupView {
  /** The driver that this process works for. */
  driver: string;
  /** Get or List: the driver can be asked what is in a group. */
  canGetGroup: boolean;
  group: VolumeGroup | undefined;
  /** The class that it names, or the default one. */
  groupClass: VolumeGroupClass | undefined;
  /** The content that it is, or should be, bound to; without a group: the content that is left. */
  content: VolumeGroupContent | undefined;
  candidates: readonly Candidate[];
  storage: StorageView;
  /** Group snapshots that want the membership to stay as it is until they are made. */
  freezes: readonly FrozenFor[];
  /** How long such a freeze lasts at most, in milliseconds. */
  freezeLimitMs: number;
  /** Claim uid -> why it may not ask for the size of the group. */
  refusedGrowth: ReadonlyMap<string, GrowthRefusal>;
  /** RFC 3339. */
  now: string;
}
