import { v1 } from "@mooring/csi";
import { chooseMode } from "@mooring/sidecars";
import type { PersistentVolume } from "@mooring/store";
import type { NodeDriver } from "./drivers.ts";

/**
 * The CSI capability of a PersistentVolume: the one that it was attached with. Throws for access modes that no CSI mode
 * stands for together. `group`: the pod's fsGroup, for drivers that apply it when mounting.
 */
export function volumeCapability(
  volume: PersistentVolume,
  driver: Pick<NodeDriver, "mountsGroup" | "singleNodeMultiWriter">,
  group?: number,
) {
  const { accessModes = [], volumeMode, mountOptions = [], csi } = volume.spec ?? {};
  const choice = chooseMode(accessModes, driver.singleNodeMultiWriter);
  if ("error" in choice) throw new Error(`PersistentVolume ${volume.metadata.name}: ${choice.error}`);
  const access = { mode: v1.VolumeCapability_AccessMode_Mode[choice.mode] };
  if (volumeMode === "Block")
    return { accessMode: access, accessType: { case: "block" as const, value: {} } };
  const value = {
    fsType: csi?.fsType ?? "",
    mountFlags: mountOptions,
    volumeMountGroup: group !== undefined && driver.mountsGroup ? String(group) : "",
  };
  return { accessMode: access, accessType: { case: "mount" as const, value } };
}
