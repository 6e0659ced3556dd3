import { createHash } from "node:crypto";
import { RecentMap } from "@mooring/store";

/** Well above the volumes of one node, so that a pass over all of them finds the names that the last one made. */
const MOST_REMEMBERED = 10_000;
const remembered = new RecentMap<string, string>(MOST_REMEMBERED);

/**
 * The name by which everyone finds the attachment of a volume to a node: `csi-` and 64 hex digits. Each pass over a node
 * asks for those of all its volumes, and a hash costs many times the read of a map.
 */
export function attachmentName(volumeHandle: string, driver: string, nodeName: string): string {
  // What is hashed is the key: where two are the same, so are the names.
  const hashed = `${volumeHandle}${driver}${nodeName}`;
  const known = remembered.get(hashed);
  if (known !== undefined) return known;
  const name = `csi-${createHash("sha256").update(hashed).digest("hex")}`;
  remembered.set(hashed, name);
  return name;
}

/** The volume's name in node.status.volumesAttached and volumesInUse. */
export function uniqueVolumeName(driver: string, volumeHandle: string): string {
  return `kubernetes.io/csi/${driver}^${volumeHandle}`;
}
