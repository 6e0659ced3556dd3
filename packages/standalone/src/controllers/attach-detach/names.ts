import { createHash } from "node:crypto";

/** The name by which everyone finds the attachment of a volume to a node: `csi-` and 64 hex digits. */
export function attachmentName(volumeHandle: string, driver: string, nodeName: string): string {
  return `csi-${createHash("sha256").update(`${volumeHandle}${driver}${nodeName}`).digest("hex")}`;
}

/** The volume's name in node.status.volumesAttached and volumesInUse. */
export function uniqueVolumeName(driver: string, volumeHandle: string): string {
  return `kubernetes.io/csi/${driver}^${volumeHandle}`;
}
