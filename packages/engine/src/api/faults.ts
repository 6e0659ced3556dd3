import type { Attempts } from "./attempts.ts";

/** What failed: the device or the file system under its users, or the image below it. */
export type FaultCause = "device" | "filesystem" | "image-cut" | "image-lost";

/** A fault of a volume, and what became of it. */
export interface VolumeSalvage extends Attempts {
  cause: FaultCause;
  faultedAt: string;
  /**
   * `Faulted`: to be checked. `NeedsConsent`: more than a safe repair is needed. `Lost`: there is nothing to repair.
   * `Clean`, `Repaired`: usable again. `Failed`: the tools themselves failed too often.
   */
  state: "Faulted" | "NeedsConsent" | "Lost" | "Clean" | "Repaired" | "Failed";
  message: string;
  finishedAt?: string;
  /** True after a repair that an operator consented to: files may be missing or old. */
  dataLoss?: boolean;
}
