import { CsiError, v1 } from "@mooring/csi";
import { isServed, type Volume } from "@mooring/engine";
import { defined, sha256 } from "@mooring/store";
import { MIGRATABLE_PARAMETER } from "./parameters.ts";

const { VolumeCapability_AccessMode_Mode: Mode } = v1;

/** What an access mode allows, and so what a second publication of the same volume may be. */
export interface AccessMode {
  name: string;
  /** The engine's short form. */
  short: "rwo" | "rwop" | "rox" | "rwx";
  /** May be published on several nodes at once. */
  multiNode: boolean;
  /** Of several nodes one may write, the others only read. */
  oneWriter: boolean;
  /** May be published at several target paths of one node at once. */
  multiTarget: boolean;
  readOnly: boolean;
}

const DEFAULTS = { multiNode: false, oneWriter: false, multiTarget: true, readOnly: false };

/** CSI `VolumeCapability.AccessMode`, with the column of the second-NodePublishVolume table that each falls in. */
const ACCESS_MODES: ReadonlyMap<number, AccessMode> = new Map([
  mode(Mode.SINGLE_NODE_WRITER, "SINGLE_NODE_WRITER", "rwo", { multiTarget: false }),
  mode(Mode.SINGLE_NODE_READER_ONLY, "SINGLE_NODE_READER_ONLY", "rwo", {
    readOnly: true,
    multiTarget: false,
  }),
  mode(Mode.SINGLE_NODE_SINGLE_WRITER, "SINGLE_NODE_SINGLE_WRITER", "rwop", { multiTarget: false }),
  mode(Mode.SINGLE_NODE_MULTI_WRITER, "SINGLE_NODE_MULTI_WRITER", "rwo", {}),
  mode(Mode.MULTI_NODE_READER_ONLY, "MULTI_NODE_READER_ONLY", "rox", { multiNode: true, readOnly: true }),
  mode(Mode.MULTI_NODE_SINGLE_WRITER, "MULTI_NODE_SINGLE_WRITER", "rwx", {
    multiNode: true,
    oneWriter: true,
  }),
  mode(Mode.MULTI_NODE_MULTI_WRITER, "MULTI_NODE_MULTI_WRITER", "rwx", { multiNode: true }),
]);

const BY_NAME = new Map([...ACCESS_MODES.values()].map((entry) => [entry.name, entry]));

/** The mode with this name, as capabilities are recorded. */
function accessModeNamed(name: string): AccessMode | undefined {
  return BY_NAME.get(name);
}

/** The widest of several modes: what the volume has to allow at least. */
export function widest(modes: readonly AccessMode[]): AccessMode["short"] {
  for (const short of ["rwx", "rox", "rwo"] as const) {
    if (modes.some((entry) => entry.short === short)) return short;
  }
  return "rwop";
}

/** What a mode comes to where there is one node for good: nothing has to be reached from another one. */
export function onOneNode(mode: AccessMode): AccessMode {
  return mode.multiNode ? { ...mode, short: "rwo", multiNode: false } : mode;
}

function mode(
  number: number,
  name: string,
  short: AccessMode["short"],
  more: Partial<Pick<AccessMode, "multiNode" | "oneWriter" | "multiTarget" | "readOnly">>,
): [number, AccessMode] {
  return [number, { name, short, ...DEFAULTS, ...more }];
}

/** File systems that a volume can be made with. */
export type FsType = "ext4" | "xfs" | "btrfs";

interface FsRules {
  /** Smallest volume that its mkfs accepts and that is worth having, in bytes. */
  minimumBytes: bigint;
}

const MIB = 1024n * 1024n;

/** mkfs.xfs refuses less than 300 MiB, mkfs.btrfs less than 109 MiB. */
export const FILE_SYSTEMS: Readonly<Record<FsType, FsRules>> = {
  ext4: { minimumBytes: 8n * MIB },
  xfs: { minimumBytes: 300n * MIB },
  btrfs: { minimumBytes: 128n * MIB },
};

/** The smallest of all: what a mount capability without a file system needs at least. */
export const SMALLEST_FS: FsType = "ext4";

/**
 * Made when a mount capability names no file system: XFS, because it grows while mounted on every kernel and with every
 * set of capabilities; ext4 for volumes that are too small for XFS.
 */
export function defaultFs(size: bigint): FsType {
  return size >= FILE_SYSTEMS.xfs.minimumBytes ? "xfs" : SMALLEST_FS;
}

/** True for the file systems that the driver can make. */
export function isFsType(name: string): name is FsType {
  return Object.hasOwn(FILE_SYSTEMS, name);
}

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

/** Key of the publish context that makes the node service mount read-only whatever else the request has. */
export const PUBLISH_READ_ONLY = "storage.mooring.dev/read-only";

/** True when nothing may be written through it: by its mode, by its flags, or by what ControllerPublishVolume returned. */
export function isReadOnlyUse(
  { mode, mount }: Capability,
  publishContext: Readonly<Record<string, string>>,
): boolean {
  return mode.readOnly || mount?.readOnly === true || publishContext[PUBLISH_READ_ONLY] === "true";
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

/** Whether the flags ask for a read-only mount; the last flag counts. */
function wantsReadOnly(flags: readonly string[]): boolean {
  const modes = flags.flatMap((flag) => flag.split(",")).filter((part) => part === "ro" || part === "rw");
  return modes.at(-1) === "ro";
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
    ...defined({ fsType: mount?.fsType, mountFlagsHash: mountFlagsHash || undefined }),
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
