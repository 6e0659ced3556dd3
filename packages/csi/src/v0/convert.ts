import type { MessageInitShape } from "@bufbuild/protobuf";
import * as v0 from "../gen/csi/v0/csi_pb.ts";
import type * as v1 from "../gen/csi/v1/csi_pb.ts";

/** A capability of csi.v0 in csi.v1: the same names and numbers, fewer of them. */
export function capability(from: v0.VolumeCapability): MessageInitShape<typeof v1.VolumeCapabilitySchema> {
  const { accessType, accessMode } = from;
  return {
    ...(accessMode === undefined ? {} : { accessMode: { mode: accessMode.mode as number } }),
    ...(accessType.case === "block" ? { accessType: { case: "block", value: {} } } : {}),
    ...(accessType.case === "mount"
      ? {
          accessType: {
            case: "mount",
            value: { fsType: accessType.value.fsType, mountFlags: accessType.value.mountFlags },
          },
        }
      : {}),
  };
}

/** An optional capability, as a field to spread into a request. */
export function withCapability(from: v0.VolumeCapability | undefined) {
  return from === undefined ? {} : { volumeCapability: capability(from) };
}

/** A size range as a field to spread into a request, in either direction. */
export function withCapacityRange(from: { requiredBytes: bigint; limitBytes: bigint } | undefined) {
  if (from === undefined) return {};
  return { capacityRange: { requiredBytes: from.requiredBytes, limitBytes: from.limitBytes } };
}

/** The snapshot a volume is made from, as a field to spread into a request. An empty source stays an empty one. */
export function withSource(from: v0.VolumeContentSource | undefined) {
  if (from === undefined) return {};
  if (from.type.case === undefined) return { volumeContentSource: {} };
  const value = { snapshotId: from.type.value.id };
  return { volumeContentSource: { type: { case: "snapshot" as const, value } } };
}

/** A place, in either direction. */
export function topology({ segments }: Place) {
  return { segments };
}

type Place = { segments: Record<string, string> };

/** Where a volume must be, as a field to spread into a request, in either direction. */
export function withRequirements(from: { requisite: Place[]; preferred: Place[] } | undefined) {
  if (from === undefined) return {};
  const { requisite, preferred } = from;
  return {
    accessibilityRequirements: { requisite: requisite.map(topology), preferred: preferred.map(topology) },
  };
}

/** A volume of csi.v1 in csi.v0, which has only snapshots as sources. */
export function volume(from: v1.Volume): MessageInitShape<typeof v0.VolumeSchema> {
  const source = from.contentSource?.type;
  return {
    id: from.volumeId,
    capacityBytes: from.capacityBytes,
    attributes: from.volumeContext,
    accessibleTopology: from.accessibleTopology.map(topology),
    ...(source?.case === "snapshot"
      ? { contentSource: { type: { case: "snapshot" as const, value: { id: source.value.snapshotId } } } }
      : {}),
  };
}

/** A snapshot of csi.v1 in csi.v0: what is made but not ready is on its way somewhere. */
export function snapshot(from: v1.Snapshot): MessageInitShape<typeof v0.SnapshotSchema> {
  const { READY, UPLOADING } = v0.SnapshotStatus_Type;
  return {
    id: from.snapshotId,
    sourceVolumeId: from.sourceVolumeId,
    sizeBytes: from.sizeBytes,
    createdAt: nanoseconds(from.creationTime),
    status: { type: from.readyToUse ? READY : UPLOADING },
  };
}

const MAX_INT64 = 2n ** 63n - 1n;

/** Nanoseconds since 1970; times beyond an int64 (after 2262) become its last one. */
function nanoseconds(time: v1.Snapshot["creationTime"]): bigint {
  if (time === undefined) return 0n;
  const exact = time.seconds * 1_000_000_000n + BigInt(time.nanos);
  return exact > MAX_INT64 ? MAX_INT64 : exact < -MAX_INT64 ? -MAX_INT64 : exact;
}
