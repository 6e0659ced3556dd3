import { CsiError, type v1 } from "@mooring/csi";
import { isServed, type Volume } from "@mooring/engine";
import { sha256 } from "../names.ts";
import { ACCESS_MODES, type AccessMode, accessModeNamed } from "./access-modes.ts";
import { FILE_SYSTEMS, type FsType, isFsType } from "./filesystems.ts";
import { wantsReadOnly } from "./mount-flags.ts";
import { MIGRATABLE_PARAMETER } from "./parameters.ts";

/** A VolumeCapability, parsed once where the request comes in. Everything after that reads this and no wire message. */
export interface Capability {
  mode: AccessMode;
  /** Equal for capabilities that ask for the same; {@link modeOfCanonical} reads it. Holds no mount flag: they may be secret. */
  canonical: string;
  /** Absent: a raw block device. */
  mount?: MountUse;
}

/** The `mount` half of a capability. */
interface MountUse {
  /** As asked for; absent when the caller leaves the choice to us. */
  fsType?: FsType;
  flags: readonly string[];
  /** The flags ask for a read-only mount. */
  readOnly: boolean;
}

/** A capability as it is recorded in a Volume. Of the mount flags only the hash is kept. */
export interface StoredCapability {
  access: "block" | "mount";
  mode: string;
  fsType?: FsType;
  mountFlagsHash?: string;
}

/** How a volume is used with a capability. */
export function accessOf({ mount }: Capability): StoredCapability["access"] {
  return mount === undefined ? "block" : "mount";
}

/** Checks one capability. `field` goes into the message. */
export function parseCapability(capability: v1.VolumeCapability | undefined, field: string): Capability {
  if (capability === undefined) throw CsiError.invalidArgument(`${field} is required`);
  const mode = ACCESS_MODES.get(capability.accessMode?.mode ?? 0);
  if (mode === undefined) {
    throw CsiError.invalidArgument(`${field}.access_mode.mode is missing or not known to this driver`);
  }
  const type = capability.accessType;
  if (type.case === "block") return { mode, canonical: canonicalOf("block", mode) };
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
  const mount: MountUse = { flags: [...mountFlags], readOnly: wantsReadOnly(mountFlags) };
  if (isFsType(fsType)) mount.fsType = fsType;
  const hash = mountFlags.length === 0 ? "" : sha256(JSON.stringify(mountFlags));
  return { mode, canonical: canonicalOf("mount", mode, fsType, hash), mount };
}

/** Checks all of them; an empty list is an error. */
export function parseCapabilities(list: readonly v1.VolumeCapability[], field: string): Capability[] {
  if (list.length === 0) throw CsiError.invalidArgument(`${field} is required`);
  return list.map((capability, index) => parseCapability(capability, `${field}[${index}]`));
}

function canonicalOf(
  access: string,
  mode: Pick<AccessMode, "name">,
  fsType = "",
  mountFlagsHash = "",
): string {
  return JSON.stringify([access, mode.name, fsType, mountFlagsHash]);
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

/** What a Volume records of a capability. */
export function toStoredCapability(capability: Capability): StoredCapability {
  const { mode, canonical, mount } = capability;
  const [, , , mountFlagsHash = ""] = JSON.parse(canonical) as string[];
  return {
    access: accessOf(capability),
    mode: mode.name,
    ...(mount?.fsType === undefined ? {} : { fsType: mount.fsType }),
    ...(mountFlagsHash === "" ? {} : { mountFlagsHash }),
  };
}

/** Equal for recorded lists with the same capabilities in any order. */
export function canonicalList(capabilities: readonly StoredCapability[]): string {
  const keys = capabilities.map(({ access, mode, fsType, mountFlagsHash }) =>
    canonicalOf(access, { name: mode }, fsType, mountFlagsHash),
  );
  return keys.sort().join("\n");
}

/** Why a volume cannot be made for all its capabilities together, and what its maker can do. */
export interface Unfit {
  reason: string;
  hint: string;
}

/**
 * Many nodes use a volume through the one that serves its file system; of raw bytes there is none to be served.
 * Undefined when one volume can have all these capabilities.
 */
export function unservable(capabilities: readonly Capability[]): Unfit | undefined {
  const multi = capabilities.find(({ mode }) => mode.multiNode);
  if (multi === undefined || capabilities.every(({ mount }) => mount !== undefined)) return undefined;
  return {
    reason: `access mode ${multi.mode.name} needs a file system that one node can serve to others: a block volume has none`,
    hint: "Ask for a file system, or use a SINGLE_NODE access mode.",
  };
}

/**
 * Two nodes have the device of a migrating volume at once, so it is a raw one, and asked for as one that several nodes
 * may write to. Undefined when these capabilities are that.
 */
export function unmigratable(capabilities: readonly Capability[]): Unfit | undefined {
  if (capabilities.some(({ mount }) => mount !== undefined)) {
    return {
      reason: `parameter "${MIGRATABLE_PARAMETER}" is for block volumes only`,
      hint: "Two nodes cannot mount one file system: ask for block access, or leave the parameter out.",
    };
  }
  if (capabilities.some(({ mode }) => mode.short === "rwx" && !mode.oneWriter)) return undefined;
  return {
    reason: "a migratable volume needs an access mode that lets two nodes write",
    hint: "Use MULTI_NODE_MULTI_WRITER (ReadWriteMany).",
  };
}

/** Undefined for a volume that no CreateVolume has made. */
function storedCapabilities({ spec: { request } }: Volume): StoredCapability[] | undefined {
  return typeof request?.name === "string" ? (request.capabilities as StoredCapability[]) : undefined;
}

/** Why a volume cannot be used like this; undefined when it can. */
export function incompatibility(volume: Volume, capability: Capability): string | undefined {
  const stored = storedCapabilities(volume);
  const access = volume.spec.volumeMode === "Block" ? "block" : "mount";
  const allowed = stored === undefined ? [access] : stored.map((one) => one.access);
  const wanted = accessOf(capability);
  if (!allowed.includes(wanted)) {
    return `the volume was created for ${allowed.join(" and ")} access, not for ${wanted}`;
  }
  const fsType = volume.status?.formatted ?? volume.spec.fsType;
  const asked = capability.mount?.fsType;
  if (asked !== undefined && fsType !== undefined && asked !== fsType) {
    return `the volume has ${fsType}, not ${asked}`;
  }
  // A driver that is alone has made it for several nodes without serving it: all of them are the one that there is.
  const many =
    isServed(volume) || (stored ?? []).some(({ mode }) => accessModeNamed(mode)?.multiNode === true);
  if (capability.mode.multiNode && !many && volume.spec.migratable !== true) {
    return `access mode ${capability.mode.name} is for several nodes, the volume was created for one`;
  }
  return undefined;
}

/** Throws INVALID_ARGUMENT for a use that the volume was not made for. */
export function requireCapability(volume: Volume, capability: Capability): void {
  const reason = incompatibility(volume, capability);
  if (reason === undefined) return;
  throw CsiError.invalidArgument(`volume_capability: ${reason}`, {
    hint: `Ask for what volume "${volume.metadata.name}" was made for, or make another volume.`,
  });
}
