import type { Outcome } from "@mooring/store";
import type { AttacherType } from "../../api/attachment.ts";
import type { Volume, VolumeStatus } from "../../api/volume.ts";
import type { Fault } from "../health/fault.ts";

/** Where a new volume's bytes come from, as far as is known now. */
export type SourceView =
  | { state: "none" }
  /** `here`: no volume, or one that this node has and keeps; otherwise a ticket for it is on its way. */
  | { state: "ready"; here: boolean; formatted?: string }
  /** Not yet. */
  | { state: "waiting"; message: string }
  | { state: "missing"; message: string }
  /** It is there, and its data are not. */
  | { state: "lost"; message: string }
  /** Never: it cannot be copied to this pool. */
  | { state: "unfit"; message: string };

/** Everything that a decision about a volume may depend on. */
export interface VolumeView {
  volume: Volume;
  /** This node. */
  nodeID: string;
  /** Undefined: the volume's pool is not open here. */
  pool: { block: boolean } | undefined;
  /** Undefined: there is no image. */
  image: { size: number } | undefined;
  /** What workloads could open now: a loop device, or the folder of a `directory` volume in use. */
  device:
    | {
        path: string;
        sizeBytes: number;
        fenced?: boolean;
        deleted?: boolean;
        /** It goes away with its last user, without an event. */
        autoclear?: boolean;
      }
    | undefined;
  /** A pod, or another process of this machine, has it mounted. Only known where a record that cannot be true has to be distinguished from one that can. */
  inUse?: boolean;
  /** Who has a fenced device mounted that goes away with its last user. */
  users?: readonly string[];
  source: SourceView;
  /** Why the device, or the file system mounted from it, has failed under its users; undefined when it has not. */
  fault: Fault | undefined;
  /** Kinds of jobs with tickets for the volume on this node, while it is out of reach of workloads. */
  jobs: readonly AttacherType[];
  /** Only for volumes of a shared pool. */
  lease?: LeaseState;
  now: Date;
}

/** What this node has of the lease of a shared pool's image. */
export interface LeaseState {
  held: boolean;
  /** The last lease holder was not seen to close it: it may still write into the file that it has open. */
  takenFrom: string | undefined;
  /** The device is open, and nothing sees to it that it ends with the lease: an earlier process has opened it. */
  unguarded?: boolean;
}

/** What a status write records; the failpoints of crash tests are named after them. */
export type VolumeRecord =
  | "creating"
  | "created"
  | "attaching"
  | "attached"
  | "device-lost"
  | "detaching"
  | "detached"
  | "deleting"
  | "faulted"
  | "recovered"
  | "size"
  | "settled"
  | "released";

/** What a job has come for: done while no workload can reach the device. */
export type JobStep =
  /** The bytes of a snapshot in place of the volume's own. */
  | { do: "restore-image" }
  /** A check, and a repair, of what has failed. */
  | { do: "repair" }
  /** A file system that cannot grow while it is mounted. */
  | { do: "grow-filesystem" };

/** One step for a volume that this node is responsible for. */
export type VolumeStep =
  | JobStep
  | Outcome
  | { do: "take-lease" }
  | { do: "guard-device" }
  | { do: "renew-image" }
  /** Nothing gets through it any more, and it goes with its last user. */
  | { do: "drop-device" }
  | { do: "add-finalizer" }
  | { do: "remove-finalizer" }
  | { do: "record"; what: VolumeRecord; status: VolumeStatus }
  | { do: "create-image" }
  | { do: "grow-image" }
  | { do: "open-device" }
  | { do: "refresh-device" }
  /** Out of reach of workloads, but open: refused while one uses it. */
  | { do: "hide-device"; status: VolumeStatus }
  | { do: "close-device" }
  | { do: "remove-image" };
