import type { VolumeStatus } from "../../api/volume.ts";
import type { VolumeRecord, VolumeStep, VolumeView } from "./view.ts";

type Optional = "currentNodeID" | "device" | "error" | "formatted" | "frontendDisabled";

/** A status with some fields set and others taken out; optional fields are absent, never undefined. */
function change(
  status: VolumeStatus,
  set: Partial<VolumeStatus>,
  drop: readonly Optional[] = [],
): VolumeStatus {
  const next: VolumeStatus = { ...status, ...set };
  for (const field of drop) delete next[field];
  return next;
}

const NEW: VolumeStatus = { state: "creating", robustness: "unknown" };

const NEXT: Readonly<Record<VolumeRecord, (status: VolumeStatus, view: VolumeView) => VolumeStatus>> = {
  creating: (status, { source }) => change(status, { state: "creating", ...inherited(status, source) }),
  created: (status, { image, source }) =>
    change(status, { state: "detached", size: image?.size ?? 0, ...inherited(status, source) }, [
      "error",
      "currentNodeID",
      "device",
    ]),
  attaching: (status) => change(status, { state: "attaching" }, ["error"]),
  attached: (status, { nodeID, volume, device, now }) =>
    change(
      status,
      {
        state: "attached",
        robustness: "healthy",
        currentNodeID: nodeID,
        device: device?.path ?? "",
        frontendDisabled: volume.spec.disableFrontend ?? false,
        // Attached before and without a device now: whatever was mounted from the old one is dead.
        ...(status.state === "attached" && status.device === undefined
          ? { remountRequestedAt: now.toISOString() }
          : {}),
      },
      ["error"],
    ),
  "device-lost": (status) => change(status, {}, ["device"]),
  detaching: (status) => change(status, { state: "detaching" }, ["error"]),
  detached: (status) =>
    change(
      status,
      { state: "detached", ...(status.robustness === "faulted" ? {} : { robustness: "unknown" as const }) },
      ["currentNodeID", "device", "frontendDisabled", ...keepFault(status)],
    ),
  deleting: (status) => change(status, { state: "deleting" }, ["error"]),
  faulted: (status, view) =>
    change(status, { robustness: "faulted", error: { code: "DATA_LOSS", message: damageOf(view) ?? "" } }),
  recovered: (status) => change(status, { robustness: "unknown" }, ["error"]),
  size: (status, { image }) =>
    change(status, { size: image?.size ?? 0, ...expansion(status, image?.size ?? 0) }, ["error"]),
  settled: (status) => change(status, {}, ["error"]),
};

export function record(what: VolumeRecord, view: VolumeView): VolumeStep {
  return { do: "record", what, status: statusAfter(what, view) };
}

export function statusAfter(what: VolumeRecord, view: VolumeView): VolumeStatus {
  return NEXT[what]({ ...(view.volume.status ?? NEW), ownerID: view.nodeID }, view);
}

/** ext4 may not be allowed to grow while it is mounted, so it grows now that nobody uses it. */
function expansion(status: VolumeStatus, size: number): Pick<VolumeStatus, "expansion"> {
  const idle = status.state === "detached" && status.formatted === "ext4";
  return idle && size > (status.size ?? 0) ? { expansion: { size } } : {};
}

/** What is wrong with the image of a volume that once had a whole one; undefined when nothing is. */
export function damageOf({ volume, image }: VolumeView): string | undefined {
  const size = volume.status?.size;
  if (size === undefined) return undefined;
  if (image === undefined) return `the image of volume ${volume.metadata.name} is gone`;
  if (image.size >= size) return undefined;
  return `the image of volume ${volume.metadata.name} has ${image.size} bytes, but had ${size}`;
}

/** "Formatted" goes over to a copy, so that nobody ever formats one. */
function inherited(status: VolumeStatus, source: VolumeView["source"]): { formatted?: string } {
  if (status.formatted !== undefined || source.state !== "ready" || source.formatted === undefined) return {};
  return { formatted: source.formatted };
}

function keepFault(status: VolumeStatus): Optional[] {
  return status.robustness === "faulted" ? [] : ["error"];
}
