import type { CsiClient } from "@mooring/csi";
import type { CreateVolumeArguments } from "../common/create-volume/intent.ts";
import { toWire } from "../csi/capability.ts";
import type { Requirement } from "../topology/requirement.ts";
import type { CreatedVolume } from "./decide.ts";

interface CallOptions {
  signal: AbortSignal;
  timeoutMs: number;
}

/** CreateVolume with recorded arguments: equal arguments give equal requests, secrets apart. */
export async function createVolume(
  client: CsiClient,
  { capacityRange, volumeCapabilities, ...given }: CreateVolumeArguments,
  secrets: Record<string, string>,
  options: CallOptions,
): Promise<CreatedVolume> {
  const { volumeContentSource, accessibilityRequirements, ...rest } = given;
  const { volume } = await client.controller.createVolume(
    {
      ...rest,
      capacityRange: { requiredBytes: BigInt(capacityRange.requiredBytes) },
      volumeCapabilities: volumeCapabilities.map(toWire),
      secrets,
      ...(volumeContentSource === undefined
        ? {}
        : { volumeContentSource: contentSource(volumeContentSource) }),
      ...(accessibilityRequirements === undefined
        ? {}
        : { accessibilityRequirements: toMessage(accessibilityRequirements) }),
    },
    options,
  );
  if (!volume?.volumeId) throw new Error("the driver responded to CreateVolume without a volume id");
  return {
    handle: volume.volumeId,
    capacityBytes: volume.capacityBytes.toString(),
    attributes: { ...volume.volumeContext },
    accessibleTopology: volume.accessibleTopology.map(({ segments }) => ({ ...segments })),
    hasSource: volume.contentSource?.type.case !== undefined,
  };
}

function contentSource(source: NonNullable<CreateVolumeArguments["volumeContentSource"]>) {
  return "snapshotId" in source
    ? { type: { case: "snapshot" as const, value: source } }
    : { type: { case: "volume" as const, value: source } };
}

function toMessage({ requisite, preferred }: Requirement) {
  return {
    requisite: requisite.map((segments) => ({ segments: { ...segments } })),
    preferred: preferred.map((segments) => ({ segments: { ...segments } })),
  };
}
