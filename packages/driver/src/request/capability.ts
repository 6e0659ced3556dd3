import { CsiError, type v1 } from "@mooring/csi";
import { sha256 } from "../names.ts";
import { ACCESS_MODES, type AccessMode, accessModeNamed } from "./access-modes.ts";
import { FILE_SYSTEMS, type FsType, isFsType } from "./filesystems.ts";

/** A VolumeCapability as it is compared and recorded. Mount flags may be secret: only their hash is kept. */
export interface Capability {
  access: "block" | "mount";
  mode: string;
  /** As asked for; absent when the caller leaves the choice to us. */
  fsType?: FsType;
  mountFlagsHash?: string;
}

/** Checks one capability. `field` goes into the message. */
export function parseCapability(capability: v1.VolumeCapability | undefined, field: string): Capability {
  if (capability === undefined) throw CsiError.invalidArgument(`${field} is required`);
  const mode = ACCESS_MODES.get(capability.accessMode?.mode ?? 0);
  if (mode === undefined) {
    throw CsiError.invalidArgument(`${field}.access_mode.mode is missing or not known to this driver`);
  }
  const type = capability.accessType;
  if (type.case === "block") return { access: "block", mode: mode.name };
  if (type.case !== "mount") throw CsiError.invalidArgument(`${field} has neither block nor mount set`);
  const { fsType, mountFlags, volumeMountGroup } = type.value;
  if (fsType !== "" && !isFsType(fsType)) {
    const known = Object.keys(FILE_SYSTEMS).join(", ");
    throw CsiError.invalidArgument(`${field}.mount.fs_type "${fsType}" is not supported`, {
      hint: `Use one of: ${known}.`,
    });
  }
  if (volumeMountGroup !== "") {
    throw CsiError.invalidArgument(`${field}.mount.volume_mount_group is not supported by this driver`);
  }
  const parsed: Capability = { access: "mount", mode: mode.name };
  if (isFsType(fsType)) parsed.fsType = fsType;
  if (mountFlags.length > 0) parsed.mountFlagsHash = sha256(JSON.stringify(mountFlags));
  return parsed;
}

/** Checks all of them; an empty list is an error. */
export function parseCapabilities(list: readonly v1.VolumeCapability[], field: string): Capability[] {
  if (list.length === 0) throw CsiError.invalidArgument(`${field} is required`);
  return list.map((capability, index) => parseCapability(capability, `${field}[${index}]`));
}

/** The mode's rules; the name always comes from {@link parseCapability}. */
export function modeOf(capability: Capability): AccessMode {
  const mode = accessModeNamed(capability.mode);
  if (mode === undefined) throw CsiError.dataLoss(`recorded access mode "${capability.mode}" is not known`);
  return mode;
}

export function mountFlagsOf(capability: v1.VolumeCapability | undefined): string[] {
  return capability?.accessType.case === "mount" ? [...capability.accessType.value.mountFlags] : [];
}

/** The mode in the canonical form of one capability; undefined for any other text. */
export function modeOfCanonical(text: string): AccessMode | undefined {
  try {
    const [, mode] = JSON.parse(text) as unknown[];
    return accessModeNamed(String(mode));
  } catch {
    return undefined;
  }
}

/** Equal for lists with the same capabilities in any order. */
export function canonical(capabilities: readonly Capability[]): string {
  const keys = capabilities.map(({ access, mode, fsType, mountFlagsHash }) =>
    JSON.stringify([access, mode, fsType ?? "", mountFlagsHash ?? ""]),
  );
  return keys.sort().join("\n");
}
