/** What a volume handle of ceph-csi says. */
export interface CsiHandle {
  clusterID: string;
  /** Ceph's number of the pool. */
  poolID: number;
  /** Of the volume: names of its image and its journal object end with it. */
  uuid: string;
}

const UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
const WHOLE = new RegExp(`^0001-([0-9a-f]{4})-(.+)-([0-9a-f]{16})-(${UUID})$`);
const AT_END = new RegExp(`(?:^|-)(${UUID})$`);

/**
 * `0001-<length of the cluster's id>-<that id>-<pool>-<uuid>`, numbers in hexadecimal. Undefined for anything else: a volume that
 * somebody declared by hand has the image's name there.
 */
export function parseCsiHandle(handle: string): CsiHandle | undefined {
  const [, length = "", clusterID = "", poolID = "", uuid = ""] = WHOLE.exec(handle) ?? [];
  if (uuid === "" || Number.parseInt(length, 16) !== clusterID.length) return undefined;
  return { clusterID, poolID: Number.parseInt(poolID, 16), uuid };
}

/** The uuid that the name of an image of ceph-csi ends with, whatever prefix its class has. */
export function uuidOfImage(name: string): string | undefined {
  return AT_END.exec(name)?.[1];
}
