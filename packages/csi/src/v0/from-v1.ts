import type { MessageInitShape } from "@bufbuild/protobuf";
import { CsiError } from "../errors/csi-error.ts";
import * as v0 from "../gen/csi/v0/csi_pb.ts";
import type * as v1 from "../gen/csi/v1/csi_pb.ts";
import { topology } from "./convert.ts";

/** What csi.v0 cannot say is refused, and never left out: the driver would do something else than was asked. */
function refuse(what: string): never {
  throw CsiError.invalidArgument(`the driver speaks csi.v0, which has no ${what}`);
}

/** A capability in csi.v0. */
export function capability({
  accessMode,
  accessType,
}: v1.VolumeCapability): MessageInitShape<typeof v0.VolumeCapabilitySchema> {
  const mode = (accessMode?.mode ?? 0) as number;
  if (!(mode in v0.VolumeCapability_AccessMode_Mode)) refuse("access modes for a single pod");
  const inMode = accessMode === undefined ? {} : { accessMode: { mode } };
  if (accessType.case === "block") return { ...inMode, accessType: { case: "block", value: {} } };
  if (accessType.case !== "mount") return inMode;
  const { fsType, mountFlags, volumeMountGroup } = accessType.value;
  if (volumeMountGroup !== "") refuse("group of a mount (VOLUME_MOUNT_GROUP)");
  return { ...inMode, accessType: { case: "mount", value: { fsType, mountFlags } } };
}

/** An optional capability, as a field to spread into a request. */
export function withCapability(from: v1.VolumeCapability | undefined) {
  return from === undefined ? {} : { volumeCapability: capability(from) };
}

/** What a volume begins with, as a field to spread into a request: a snapshot, or nothing. */
export function withSource(from: v1.VolumeContentSource | undefined) {
  if (from === undefined) return {};
  if (from.type.case === "volume") refuse("copies of volumes (CLONE_VOLUME)");
  if (from.type.case === undefined) return { volumeContentSource: {} };
  const value = { id: from.type.value.snapshotId };
  return { volumeContentSource: { type: { case: "snapshot" as const, value } } };
}

/** Refuses parameters that can be changed later. */
export function requireNone(mutableParameters: Record<string, string>): void {
  if (Object.keys(mutableParameters).length > 0) refuse("mutable parameters (MODIFY_VOLUME)");
}

/** A volume of csi.v0 in csi.v1. */
export function volume(from: v0.Volume): MessageInitShape<typeof v1.VolumeSchema> {
  const source = from.contentSource?.type;
  const value = { snapshotId: source?.value?.id ?? "" };
  return {
    volumeId: from.id,
    capacityBytes: from.capacityBytes,
    volumeContext: from.attributes,
    accessibleTopology: from.accessibleTopology.map(topology),
    ...(source?.case === "snapshot" ? { contentSource: { type: { case: "snapshot", value } } } : {}),
  };
}

const BILLION = 1_000_000_000n;

/** A snapshot of csi.v0 in csi.v1: what is being uploaded is not ready yet. */
export function snapshot(from: v0.Snapshot): MessageInitShape<typeof v1.SnapshotSchema> {
  const nanos = ((from.createdAt % BILLION) + BILLION) % BILLION;
  return {
    snapshotId: from.id,
    sourceVolumeId: from.sourceVolumeId,
    sizeBytes: from.sizeBytes,
    creationTime: { seconds: (from.createdAt - nanos) / BILLION, nanos: Number(nanos) },
    readyToUse: from.status?.type === v0.SnapshotStatus_Type.READY,
  };
}

/** A new snapshot. csi.v1 has no error status: what will never be ready is a failed call. */
export function newSnapshot(from: v0.Snapshot): MessageInitShape<typeof v1.SnapshotSchema> {
  const { type, details = "" } = from.status ?? {};
  if (type === v0.SnapshotStatus_Type.ERROR_UPLOADING)
    throw CsiError.internal(
      `snapshot ${from.id} could not be uploaded: ${details || "the driver gives no reason"}`,
    );
  return snapshot(from);
}
