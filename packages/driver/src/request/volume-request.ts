import { CsiError, type v1 } from "@mooring/csi";
import type { ImageFeature, ProvisioningType, VolumeSource } from "@mooring/engine";
import { defined } from "@mooring/store";
import { volumeIdOf } from "../names.ts";
import {
  type Capability,
  canonicalList,
  type FsType,
  parseCapabilities,
  type StoredCapability,
  toStoredCapability,
  type Unfit,
  unmigratable,
  unservable,
} from "./capability.ts";
import {
  comparedParameters,
  imageFeaturesOf,
  isMigratable,
  POOL_PARAMETER,
  parseMutableParameters,
  parseParameters,
  provisioningOf,
  requireNoDiscard,
} from "./parameters.ts";
import { parseRange, type SizeRange } from "./size.ts";

/** A CreateVolume call without its secrets, parsed once: everything that is decided later reads this. */
export interface VolumeRequest {
  name: string;
  /** The volume id that this name leads to. */
  id: string;
  range: SizeRange;
  capabilities: Capability[];
  /** It is to be used as a block device, as a file system, or as either. */
  block: boolean;
  mount: boolean;
  /** The file system that was asked for; undefined when the caller leaves the choice to us. */
  fsType: FsType | undefined;
  /** The pool that the parameters name. */
  pool: string | undefined;
  migratable: boolean;
  /** Undefined: it was not asked for. */
  provisioningType: ProvisioningType | undefined;
  /** Of the image in a Ceph pool; undefined: they were not asked for. */
  imageFeatures: ImageFeature[] | undefined;
  /** Why several nodes cannot use one volume as it is asked for. */
  unfit: Unfit | undefined;
  mutableParameters: Record<string, string>;
  source: VolumeSource | undefined;
  /** Where the volume is to be reachable from. */
  accessibilityRequirements: v1.TopologyRequirement | undefined;
  /** The arguments that make two calls of one name the same or different. */
  stored: StoredVolumeRequest;
}

/** What `Volume.spec.request` records: JSON has no bigint. */
export interface StoredVolumeRequest extends Record<string, unknown> {
  name: string;
  requiredBytes: string;
  limitBytes: string;
  capabilities: StoredCapability[];
  parameters: Record<string, string>;
  mutableParameters: Record<string, string>;
  source?: VolumeSource;
}

/** Checks everything that can be checked without reading any object. */
export function parseVolumeRequest(request: v1.CreateVolumeRequest): VolumeRequest {
  const { name } = request;
  if (name === "") throw CsiError.invalidArgument("name is required");
  const range = parseRange(request.capacityRange);
  const capabilities = parseCapabilities(request.volumeCapabilities, "volume_capabilities");
  const parameters = parseParameters(request.parameters);
  const mutableParameters = parseMutableParameters(request.mutableParameters);
  const fsType = oneFileSystem(capabilities);
  const source = parseSource(request.volumeContentSource);
  const migratable = isMigratable(parameters);
  const provisioningType = provisioningOf(parameters);
  requireNoDiscard(provisioningType === "thick", mutableParameters);
  return {
    name,
    id: volumeIdOf(name),
    range,
    capabilities,
    block: capabilities.some(({ mount }) => mount === undefined),
    mount: capabilities.some(({ mount }) => mount !== undefined),
    fsType,
    pool: parameters[POOL_PARAMETER],
    migratable,
    provisioningType,
    imageFeatures: imageFeaturesOf(parameters),
    unfit: (migratable ? unmigratable : unservable)(capabilities),
    mutableParameters,
    source,
    accessibilityRequirements: request.accessibilityRequirements,
    stored: {
      name,
      requiredBytes: range.requiredBytes.toString(),
      limitBytes: range.limitBytes.toString(),
      capabilities: capabilities.map(toStoredCapability),
      parameters,
      mutableParameters,
      ...defined({ source }),
    },
  };
}

function oneFileSystem(capabilities: readonly Capability[]): FsType | undefined {
  const [first, ...others] = new Set(capabilities.flatMap(({ mount }) => mount?.fsType ?? []));
  if (others.length === 0) return first;
  throw CsiError.invalidArgument(
    `one volume cannot have several file systems: ${[first, ...others].join(", ")}`,
  );
}

function parseSource(source: v1.VolumeContentSource | undefined): VolumeSource | undefined {
  if (source === undefined) return undefined;
  const { type } = source;
  if (type.case === "snapshot" && type.value.snapshotId !== "") {
    return { kind: "Snapshot", name: type.value.snapshotId };
  }
  if (type.case === "volume" && type.value.volumeId !== "")
    return { kind: "Volume", name: type.value.volumeId };
  throw CsiError.invalidArgument("volume_content_source names neither a snapshot nor a volume");
}

/** The recorded request of a Volume; undefined for one that was not made by CreateVolume. */
export function storedRequest(record: Record<string, unknown> | undefined): StoredVolumeRequest | undefined {
  return typeof record?.name === "string" ? (record as StoredVolumeRequest) : undefined;
}

const COMPARED: Readonly<Record<string, (request: StoredVolumeRequest) => unknown>> = {
  name: (r) => r.name,
  "capacity_range.required_bytes": (r) => r.requiredBytes,
  "capacity_range.limit_bytes": (r) => r.limitBytes,
  volume_capabilities: (r) => canonicalList(r.capabilities),
  parameters: (r) => comparedParameters(r.parameters),
  mutable_parameters: (r) => Object.entries(r.mutableParameters).sort(),
  volume_content_source: (r) => [r.source?.kind, r.source?.name],
};

/** The arguments in which two requests differ, by their names on the wire. */
export function differences(a: StoredVolumeRequest, b: StoredVolumeRequest): string[] {
  return Object.entries(COMPARED)
    .filter(([, value]) => JSON.stringify(value(a)) !== JSON.stringify(value(b)))
    .map(([field]) => field);
}
