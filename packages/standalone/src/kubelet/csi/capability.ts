import { v1 } from "@mooring/csi";
import type { PersistentVolume } from "@mooring/store";
import type { NodeDriver } from "./drivers.ts";

const { VolumeCapability_AccessMode_Mode: Mode } = v1;

/**
 * One access mode for the volume: the widest that it has. Drivers that tell one writer on a node from several get the
 * exact word, others the old one.
 */
export function accessMode(
  modes: readonly string[],
  singleNodeMultiWriter: boolean,
): v1.VolumeCapability_AccessMode_Mode {
  if (modes.includes("ReadWriteMany")) return Mode.MULTI_NODE_MULTI_WRITER;
  if (modes.includes("ReadWriteOncePod") && singleNodeMultiWriter) return Mode.SINGLE_NODE_SINGLE_WRITER;
  if (modes.includes("ReadWriteOnce") && singleNodeMultiWriter) return Mode.SINGLE_NODE_MULTI_WRITER;
  if (modes.includes("ReadWriteOnce") || modes.includes("ReadWriteOncePod")) return Mode.SINGLE_NODE_WRITER;
  return modes.includes("ReadOnlyMany") ? Mode.MULTI_NODE_READER_ONLY : Mode.SINGLE_NODE_WRITER;
}

/** The CSI capability of a PersistentVolume. `group`: the pod's fsGroup, for drivers that apply it when mounting. */
export function volumeCapability(volume: PersistentVolume, driver: NodeDriver, group?: number) {
  const { accessModes = [], volumeMode, mountOptions = [], csi } = volume.spec ?? {};
  const access = { mode: accessMode(accessModes, driver.singleNodeMultiWriter) };
  if (volumeMode === "Block")
    return { accessMode: access, accessType: { case: "block" as const, value: {} } };
  const value = {
    fsType: csi?.fsType ?? "",
    mountFlags: mountOptions,
    volumeMountGroup: group !== undefined && driver.mountsGroup ? String(group) : "",
  };
  return { accessMode: access, accessType: { case: "mount" as const, value } };
}
