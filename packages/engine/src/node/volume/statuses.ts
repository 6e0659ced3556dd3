import type { FaultCause, VolumeSalvage } from "../../api/faults.ts";
import { openFault } from "../../api/salvage.ts";
import type { Volume, VolumeStatus } from "../../api/volume.ts";
import { wholeSectors } from "../../pools/sectors.ts";
import { howToConsent } from "./jobs/consent.ts";
import type { VolumeRecord, VolumeStep, VolumeView } from "./view.ts";

type Optional =
  | "currentNodeID"
  | "currentMigrationNodeID"
  | "device"
  | "error"
  | "formatted"
  | "frontendDisabled"
  | "migrationDevice";

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
  attached: (status, { nodeID, volume, device, inUse, now }) =>
    change(
      status,
      {
        state: "attached",
        // Opened to be repaired: it is not whole yet.
        robustness: status.robustness === "faulted" ? "faulted" : "healthy",
        currentNodeID: nodeID,
        device: device?.path ?? "",
        frontendDisabled: volume.spec.disableFrontend ?? false,
        // Attached before and without a device now: whatever was mounted from the old one is dead.
        ...(status.state === "attached" && status.device === undefined && inUse !== true
          ? { remountRequestedAt: now.toISOString() }
          : {}),
      },
      ["error"],
    ),
  "device-lost": (status) => change(status, {}, ["device"]),
  detaching: (status) => change(status, { state: "detaching" }, ["error"]),
  detached: (status, { nodeID }) =>
    change(
      status,
      { state: "detached", ...(status.robustness === "faulted" ? {} : { robustness: "unknown" as const }) },
      ["currentNodeID", "device", "frontendDisabled", ...keepFault(status), ...targetLeft(status, nodeID)],
    ),
  deleting: (status) => change(status, { state: "deleting" }, ["error"]),
  faulted: (status, view) => {
    const known = faultOf(view) === undefined ? openFault(view.volume) : undefined;
    if (known !== undefined) {
      return change(status, { robustness: "faulted", error: { code: "DATA_LOSS", message: known.message } });
    }
    const { cause, message } = faultOf(view) ?? { cause: "filesystem" as const, message: "" };
    const faultedAt = view.now.toISOString();
    const { name } = view.volume.metadata;
    const advice = cause === "image-cut" ? `; ${howToConsent(name, faultedAt)}` : "";
    const salvage: VolumeSalvage = {
      cause,
      faultedAt,
      state: FIRST_STATE[cause],
      message: `${message}${advice}`,
    };
    return change(status, {
      robustness: "faulted",
      error: { code: "DATA_LOSS", message: salvage.message },
      salvage,
      // The process that has it mounted has to unmount it before anything can be done.
      ...(status.state === "attached" ? { remountRequestedAt: faultedAt } : {}),
    });
  },
  // Where only the record was wrong, the volume is in use as before.
  recovered: (status) => {
    const found = status.state !== "attached" || status.salvage?.cause === "image-lost";
    return change(status, { robustness: found ? "unknown" : "healthy" }, ["error"]);
  },
  size: (status, { image }) =>
    change(status, { size: image?.size ?? 0, ...expansion(status, image?.size ?? 0) }, ["error"]),
  settled: (status) => change(status, {}, ["error"]),
  released: (status) => change(status, { ownerID: "" }, ["error"]),
};

/** The step that writes what has become of a volume. */
export function record(what: VolumeRecord, view: VolumeView): VolumeStep {
  return { do: "record", what, status: statusAfter(what, view) };
}

/** The volume's status with that in it. */
export function statusAfter(what: VolumeRecord, view: VolumeView): VolumeStatus {
  return NEXT[what]({ ...(view.volume.status ?? NEW), ownerID: view.nodeID }, view);
}

/** ext4 may not be allowed to grow while it is mounted, so it grows now that no pod uses it. */
function expansion(status: VolumeStatus, size: number): Pick<VolumeStatus, "expansion"> {
  const idle = status.state === "detached" && status.formatted === "ext4";
  return idle && size > (status.size ?? 0) ? { expansion: { size } } : {};
}

const FIRST_STATE: Readonly<Record<FaultCause, VolumeSalvage["state"]>> = {
  device: "Faulted",
  filesystem: "Faulted",
  "image-cut": "NeedsConsent",
  "image-lost": "Lost",
};

/** What has failed: the image, or what is made of it while it was in use. */
export function faultOf(view: VolumeView): { cause: FaultCause; message: string } | undefined {
  const damage = damageOf(view);
  if (damage !== undefined) {
    return { cause: view.image === undefined ? "image-lost" : "image-cut", message: damage };
  }
  const { state, frontendDisabled } = view.volume.status ?? {};
  if (view.fault === undefined || state !== "attached" || frontendDisabled === true) return undefined;
  return view.fault;
}

/** Bytes that a whole image of the volume has at least; undefined: none has been made. */
export function wholeSize({ spec, status }: Volume): number | undefined {
  if (status?.size === undefined) return undefined;
  // It was never larger than a claim wanted it.
  return Math.min(status.size, wholeSectors(spec.size));
}

/** What is wrong with the image of a volume that once had a whole one; undefined when nothing is. */
export function damageOf({ volume, image }: VolumeView): string | undefined {
  const size = wholeSize(volume);
  if (size === undefined) return undefined;
  if (image === undefined) return `the image of volume ${volume.metadata.name} is gone`;
  if (image.size >= size) return undefined;
  return `the image of volume ${volume.metadata.name} has ${image.size} bytes, but had ${size}`;
}

/** "Formatted" goes over to a copy, so that no agent ever formats one. */
function inherited(status: VolumeStatus, source: VolumeView["source"]): { formatted?: string } {
  if (status.formatted !== undefined || source.state !== "ready" || source.formatted === undefined) return {};
  return { formatted: source.formatted };
}

/** What a migration to this node has opened is closed with the rest. */
function targetLeft({ currentMigrationNodeID }: VolumeStatus, nodeID: string): Optional[] {
  return currentMigrationNodeID === nodeID ? ["currentMigrationNodeID", "migrationDevice"] : [];
}

function keepFault(status: VolumeStatus): Optional[] {
  return status.robustness === "faulted" ? [] : ["error"];
}
