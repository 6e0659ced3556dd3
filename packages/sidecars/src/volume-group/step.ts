import type { Condition, Outcome, PersistentVolumeClaim } from "@mooring/store";
import type { VolumeGroupContent } from "../kube/volume-group.ts";
import type { News } from "./news.ts";
import type { RecordStep } from "./record.ts";
import type { GroupStatus } from "./status.ts";
import type { ClaimOfVolume } from "./view.ts";

/** What a content reports of itself, where no response of the driver is to be recorded. */
export interface ContentReport {
  ready: boolean;
  conditions: Condition[];
}

/** One visible change for a VolumeGroup, the same one for several claims of it, or one call to the driver. */
export type VolumeGroupStep =
  | { do: "add-finalizer" }
  | { do: "create-content"; content: VolumeGroupContent }
  | { do: "bind-content" }
  | { do: "mark-being-created" }
  | { do: "create-group" }
  | { do: "get-group"; handle: string }
  | RecordStep
  | { do: "write-content-conditions"; status: ContentReport }
  | { do: "protect-claims"; claims: ClaimOfVolume[] }
  | { do: "modify"; handle: string; volumeHandles: string[]; added: string[] }
  | { do: "release-claims"; claims: PersistentVolumeClaim[] }
  | { do: "grow-claim"; claim: PersistentVolumeClaim; size: string }
  | { do: "write-status"; status: GroupStatus; news: News[] }
  | { do: "delete-claims"; claims: PersistentVolumeClaim[] }
  /** With these volumes and no others. */
  | { do: "delete-group"; handle: string; volumeHandles: string[] }
  | { do: "delete-content" | "release-content" | "release-group" };

/** A step, or how the work on the key ends for now. */
export type Decision = VolumeGroupStep | Outcome;
