import { MOST_ATTEMPTS } from "./attempts.ts";
import type { VolumeSalvage } from "./faults.ts";
import type { Volume } from "./volume.ts";

const REPAIRED: readonly (VolumeSalvage["state"] | undefined)[] = ["Clean", "Repaired"];

/**
 * True while a volume's data cannot be trusted. An agent never calls a volume faulted without recording what the fault
 * is: that word alone, or with a fault that was repaired long ago, was written by hand and takes no workload's volume away.
 */
export function isFaulted({ status }: Pick<Volume, "status">): boolean {
  if (status?.robustness !== "faulted" || status.salvage === undefined) return false;
  return !REPAIRED.includes(status.salvage.state);
}

/** A fault that was not repaired, whatever the volume's robustness is; a lost image is whole when it is found again. */
export function openFault({ status }: Pick<Volume, "status">): VolumeSalvage | undefined {
  const { salvage } = status ?? {};
  const open = salvage !== undefined && salvage.cause !== "image-lost" && !REPAIRED.includes(salvage.state);
  return open ? salvage : undefined;
}

/** True when an operator has consented to lose data in order to repair just this fault. */
export function hasConsent({ spec, status }: Volume): boolean {
  return spec.acceptDataLoss !== undefined && spec.acceptDataLoss === status?.salvage?.faultedAt;
}

/** The fault that can be repaired now; undefined when there is none, or nothing that may be done about it. */
export function pendingSalvage(volume: Volume): VolumeSalvage | undefined {
  const { robustness, salvage } = volume.status ?? {};
  if (robustness !== "faulted" || salvage === undefined) return undefined;
  const able = salvage.state === "Faulted" || (salvage.state === "NeedsConsent" && hasConsent(volume));
  return able && (salvage.failures ?? 0) < MOST_ATTEMPTS ? salvage : undefined;
}
