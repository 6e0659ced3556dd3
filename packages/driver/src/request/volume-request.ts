import { CsiError, type v1 } from "@mooring/csi";
import type { VolumeSource } from "@mooring/engine";
import { ACCESS_MODES } from "./access-modes.ts";
import { type Capability, canonical, parseCapabilities } from "./capability.ts";
import { comparedParameters, parseMutableParameters, parseParameters } from "./parameters.ts";
import { parseRange, type SizeRange } from "./size.ts";

/** The arguments of CreateVolume that make two calls of one name the same or different. Secrets are not among them. */
export interface VolumeRequest {
  name: string;
  range: SizeRange;
  capabilities: Capability[];
  parameters: Record<string, string>;
  mutableParameters: Record<string, string>;
  source?: VolumeSource;
}

/** The form in `Volume.spec.request`: JSON has no bigint. */
export interface StoredVolumeRequest extends Record<string, unknown> {
  name: string;
  requiredBytes: string;
  limitBytes: string;
  capabilities: Capability[];
  parameters: Record<string, string>;
  mutableParameters: Record<string, string>;
  source?: VolumeSource;
}

/** Checks everything that can be checked without looking at any object. */
export function parseVolumeRequest(request: v1.CreateVolumeRequest): VolumeRequest {
  if (request.name === "") throw CsiError.invalidArgument("name is required");
  const parsed: VolumeRequest = {
    name: request.name,
    range: parseRange(request.capacityRange),
    capabilities: parseCapabilities(request.volumeCapabilities, "volume_capabilities"),
    parameters: parseParameters(request.parameters),
    mutableParameters: parseMutableParameters(request.mutableParameters),
  };
  const fileSystems = new Set(
    parsed.capabilities.flatMap(({ fsType }) => (fsType === undefined ? [] : [fsType])),
  );
  if (fileSystems.size > 1) {
    throw CsiError.invalidArgument(
      `one volume cannot hold several file systems: ${[...fileSystems].join(", ")}`,
    );
  }
  const source = parseSource(request.volumeContentSource);
  return source === undefined ? parsed : { ...parsed, source };
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

export function toStored(request: VolumeRequest): StoredVolumeRequest {
  const { range, ...rest } = request;
  return {
    ...rest,
    requiredBytes: range.requiredBytes.toString(),
    limitBytes: range.limitBytes.toString(),
  };
}

/** The recorded request of a Volume; undefined for one that was not made by CreateVolume. */
export function storedRequest(record: Record<string, unknown> | undefined): StoredVolumeRequest | undefined {
  return typeof record?.name === "string" ? (record as StoredVolumeRequest) : undefined;
}

const COMPARED: Readonly<Record<string, (request: StoredVolumeRequest) => unknown>> = {
  name: (r) => r.name,
  "capacity_range.required_bytes": (r) => r.requiredBytes,
  "capacity_range.limit_bytes": (r) => r.limitBytes,
  volume_capabilities: (r) => canonical(r.capabilities),
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

/** Why no volume can have all these capabilities; undefined when one can. */
export function unservable(capabilities: readonly Capability[]): string | undefined {
  const [multi] = multiNodeModes(capabilities);
  if (multi === undefined || capabilities.every(({ access }) => access === "mount")) return undefined;
  return `access mode ${multi} needs a file system that one node can serve to others: a block volume has none`;
}

/** Modes that are for more than one node. */
export function multiNodeModes(capabilities: readonly Capability[]): string[] {
  const multi = new Set([...ACCESS_MODES.values()].filter((m) => m.multiNode).map((m) => m.name));
  return capabilities.map((c) => c.mode).filter((mode) => multi.has(mode));
}
