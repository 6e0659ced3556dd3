import type { PersistentVolumeClaim, StorageClass } from "@mooring/store";
import {
  MIGRATED_TO,
  SELECTED_NODE,
  STORAGE_PROVISIONER,
  STORAGE_PROVISIONER_BETA,
} from "../common/names.ts";

/** The driver that the PV controller chose for a claim. */
export function provisionerOf(claim: PersistentVolumeClaim): string | undefined {
  const annotations = claim.metadata.annotations ?? {};
  return (
    annotations[MIGRATED_TO] ?? annotations[STORAGE_PROVISIONER] ?? annotations[STORAGE_PROVISIONER_BETA]
  );
}

/** The node that the scheduler chose for a claim's first consumer; the empty string counts as none. */
export function selectedNodeOf(claim: PersistentVolumeClaim): string | undefined {
  return claim.metadata.annotations?.[SELECTED_NODE] || undefined;
}

/** Whether a volume may have to be made for the claim, now or when its class or its node is there. */
export function mayWantVolume(claim: PersistentVolumeClaim, driver: string): boolean {
  return !claim.spec?.volumeName && provisionerOf(claim) === driver;
}

/** Whether a new volume should be made for this claim now. */
export function wantsVolume(
  claim: PersistentVolumeClaim,
  storageClass: StorageClass | undefined,
  driver: string,
): boolean {
  if (claim.metadata.deletionTimestamp !== undefined || !mayWantVolume(claim, driver)) return false;
  if (claim.status?.phase === "Lost") return false;
  if (storageClass?.provisioner !== driver) return false;
  const late = storageClass.volumeBindingMode === "WaitForFirstConsumer";
  return !late || selectedNodeOf(claim) !== undefined;
}

/** Whether a volume that has been asked for may still become this claim's. */
export function stillWanted(claim: PersistentVolumeClaim | undefined, volumeName: string): boolean {
  if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return false;
  return !claim.spec?.volumeName || claim.spec.volumeName === volumeName;
}

/** `pvc-<uid>`; a length truncates the uid, without its dashes, to that many characters. */
export function volumeNameFor(uid: string, prefix: string, uuidLength: number): string {
  return `${prefix}-${uuidLength < 0 ? uid : uid.replaceAll("-", "").slice(0, uuidLength)}`;
}
