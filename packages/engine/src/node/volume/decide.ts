import { DONE, hasFinalizer, isDeleting } from "@mooring/store";
import { ENGINE_FINALIZER } from "../../api/names.ts";
import { isFaulted, openFault } from "../../api/salvage.ts";
import { fail } from "../../refused.ts";
import {
  ATTACHMENT_TABLE,
  type AttachmentAction,
  type AttachmentState,
  placeOf,
} from "./attachment-table.ts";
import { isAboutToRepair, isAboutToRestore, jobStep } from "./jobs/decide.ts";
import { damageOf, faultOf, record, statusAfter } from "./statuses.ts";
import type { LeaseState, VolumeStep, VolumeView } from "./view.ts";

/** The next step for a volume of this node. Pure. Each step is one change that others can see. */
export function decide(view: VolumeView): VolumeStep {
  return view.lease === undefined ? ownStep(view) : sharedStep(view, view.lease);
}

/**
 * Of a shared pool's volume nothing is changed without its lease, and nothing is opened that its last lease holder may
 * still write to. A node that does not need it any more releases it: first in the record, then (when this rests) the lease.
 */
function sharedStep(view: VolumeView, lease: LeaseState): VolumeStep {
  const { volume, nodeID, device } = view;
  const { ownerID = "", state } = volume.status ?? {};
  if (!lease.held) {
    const idle = ownerID !== nodeID && isAtRest(ownStep(view));
    return idle ? DONE : { do: "take-lease" };
  }
  if (lease.unguarded === true) return { do: "guard-device" };
  if (lease.takenFrom !== undefined) return { do: "renew-image" };
  // Fenced when an earlier lease was lost; what is mounted from it fails until it is unmounted.
  const fenced = device?.fenced === true;
  if (fenced && device.autoclear !== true) return { do: "drop-device" };
  // Another node has put a new file in the image's place while nothing here could fence the device. What it shows, and
  // takes, belongs to no agent any more: its users must be notified, and nothing may be mounted from it again.
  if (!fenced && device?.deleted === true && view.image !== undefined) return { do: "drop-device" };
  // It goes with its last user, which sends no event. Where nobody wants the volume it counts as closed: another node gets it.
  if (fenced && volume.spec.nodeID === nodeID) return stillUsed(view, device.path);
  const present = fenced ? { ...view, device: undefined, fault: undefined } : view;
  // The node that has the lease and the device is the owner, whatever a hand-written status has.
  if (present.device !== undefined && ownerID !== nodeID) return record("settled", present);
  const step = ownStep(present);
  const unneeded = state === "detached" && (volume.spec.nodeID ?? "") !== nodeID && ownerID !== "";
  return isAtRest(step) && unneeded ? record("released", present) : step;
}

function stillUsed({ volume, users = [] }: VolumeView, path: string): VolumeStep {
  const { name } = volume.metadata;
  const who = users.length === 0 ? "a process has it open" : users.join(", ");
  return fail(
    "FAILED_PRECONDITION",
    `${path} was fenced when this node lost volume ${name}, and is still in use: ${who}; nothing gets through it any more`,
    "end the pod or process that uses it: the device goes then, and the volume gets a new one",
  );
}

function isAtRest({ do: what }: VolumeStep): boolean {
  return what === "done" || what === "wait";
}

function ownStep(view: VolumeView): VolumeStep {
  const { volume, pool } = view;
  const protectedByUs = hasFinalizer(volume, ENGINE_FINALIZER);
  if (!protectedByUs) return isDeleting(volume) ? DONE : { do: "add-finalizer" };
  if (pool === undefined) return fail("UNAVAILABLE", `pool ${volume.spec.pool} is not open on this node`);
  return (
    deletion(view) ??
    creation(view) ??
    damage(view) ??
    attachment(view) ??
    growth(view) ??
    job(view) ??
    tidy(view) ??
    DONE
  );
}

/** Users first, then data, then the record. A volume that tickets still keep on a node stays as it is. */
function deletion(view: VolumeView): VolumeStep | undefined {
  const { volume, image, device } = view;
  if (!isDeleting(volume)) return undefined;
  switch (volume.status?.state ?? "creating") {
    case "deleting":
      if (device !== undefined) return { do: "close-device" };
      return image === undefined ? { do: "remove-finalizer" } : { do: "remove-image" };
    case "creating":
      return record("deleting", view);
    case "detached": {
      const unwanted = (volume.spec.nodeID ?? "") === "" && (volume.status?.currentNodeID ?? "") === "";
      return unwanted && device === undefined ? record("deleting", view) : undefined;
    }
    default:
      return undefined;
  }
}

function creation(view: VolumeView): VolumeStep | undefined {
  const { volume, image, device } = view;
  const { state, size } = volume.status ?? {};
  if (state === undefined) return record("creating", view);
  if (state !== "creating") {
    // Never made, whatever a hand-written status has.
    const nothing = size === undefined && image === undefined;
    if (nothing) return device === undefined ? record("creating", view) : { do: "close-device" };
    // A record that was brought back from its deletion.
    return state === "deleting" ? record("detaching", view) : undefined;
  }
  // A size is recorded when an image is made: this one was, and if it is gone now, no new one takes its place.
  if (size !== undefined) return record("detaching", view);
  if (image === undefined) return fromSource(view);
  // The wish may have grown while the image was being made.
  return image.size < volume.spec.size ? { do: "grow-image" } : record("created", view);
}

function fromSource({ source }: VolumeView): VolumeStep {
  switch (source.state) {
    case "none":
      return { do: "create-image" };
    case "ready":
      return source.here ? { do: "create-image" } : DONE;
    case "waiting":
      return fail("UNAVAILABLE", source.message);
    case "missing":
      return fail("NOT_FOUND", source.message);
    case "lost":
      return fail("DATA_LOSS", source.message);
    case "unfit":
      return fail("INVALID_ARGUMENT", source.message);
  }
}

/** A lost or truncated image is reported and never replaced by a new, empty one. */
function damage(view: VolumeView): VolumeStep | undefined {
  const recorded = view.volume.status?.robustness === "faulted";
  const faulted = isFaulted(view.volume);
  if (faultOf(view) !== undefined) return faulted ? undefined : record("faulted", view);
  // An operator has written by hand that it is faulted, or that it is not.
  if (recorded && !faulted) return record("recovered", view);
  if (!recorded && openFault(view.volume) !== undefined) return record("faulted", view);
  // Only a lost image is whole when it is found again; all else has to be checked.
  const { cause = "image-lost" } = view.volume.status?.salvage ?? {};
  return faulted && cause === "image-lost" ? record("recovered", view) : undefined;
}

function attachment(view: VolumeView): VolumeStep | undefined {
  const { volume, nodeID } = view;
  const { currentNodeID, state } = volume.status ?? {};
  const wanted = placeOf(volume.spec.nodeID, nodeID);
  const row = ATTACHMENT_TABLE[wanted][placeOf(currentNodeID, nodeID)];
  const action = row[machineState(state)];
  const step = STEPS[action](view);
  if (step === undefined && action === "rest" && wanted === "elsewhere" && view.lease === undefined) {
    const message = `the data of volume ${volume.metadata.name} is on node ${nodeID}, not on ${volume.spec.nodeID}`;
    return fail("FAILED_PRECONDITION", message);
  }
  return step;
}

function machineState(state: string | undefined): AttachmentState {
  return state === "attaching" || state === "attached" || state === "detaching" ? state : "detached";
}

const STEPS: Readonly<Record<AttachmentAction, (view: VolumeView) => VolumeStep | undefined>> = {
  "begin-attach": (view) => unlessDamaged(view, record("attaching", view)),
  open: (view) =>
    isThere(view.device) ? record("attached", view) : unlessDamaged(view, { do: "open-device" }),
  keep,
  "begin-detach": (view) => record("detaching", view),
  close,
  rest: (view) => (view.device === undefined ? undefined : { do: "close-device" }),
};

/**
 * No controller detaches a volume that is wanted where it is, so a record of it was written by hand. A device that is
 * in use then stays as it is; one that no process uses is closed and opened again.
 */
function close(view: VolumeView): VolumeStep {
  const { volume, nodeID, device, inUse } = view;
  if (device === undefined) return record("detached", view);
  const wanted = volume.spec.nodeID === nodeID && volume.spec.disableFrontend !== true;
  return wanted && inUse === true ? record("attached", view) : { do: "close-device" };
}

/** A device that goes away with its last user does not count: opening it again makes it stay. */
function isThere(device: VolumeView["device"]): boolean {
  return device !== undefined && device.autoclear !== true;
}

/** After a reboot the record is still attached, but there is no device: it is opened again. */
function keep(view: VolumeView): VolumeStep | undefined {
  const { volume, device } = view;
  const { device: recorded, frontendDisabled = false } = volume.status ?? {};
  if (device === undefined) {
    return recorded === undefined ? unlessDamaged(view, { do: "open-device" }) : record("device-lost", view);
  }
  if (!isThere(device)) return unlessDamaged(view, { do: "open-device" });
  const hidden = volume.spec.disableFrontend ?? false;
  if (device.path === recorded && frontendDisabled === hidden) return undefined;
  if (!hidden || frontendDisabled) return record("attached", view);
  return { do: "hide-device", status: statusAfter("attached", view) };
}

function unlessDamaged(view: VolumeView, step: VolumeStep): VolumeStep {
  const what = damageOf(view);
  if (what === undefined) return step;
  // New bytes are on their way: for them it is opened, and they come before its device does.
  if (isAboutToRepair(view)) return step;
  if (isAboutToRestore(view)) return step.do === "open-device" ? (jobStep(view) ?? step) : step;
  return fail("DATA_LOSS", what);
}

/** A job has the device for itself, once it is recorded that workloads cannot reach it. */
function job(view: VolumeView): VolumeStep | undefined {
  const { state, currentNodeID, frontendDisabled } = view.volume.status ?? {};
  const inHand = state === "attached" && currentNodeID === view.nodeID && frontendDisabled === true;
  return inHand && !isDeleting(view.volume) ? jobStep(view) : undefined;
}

function growth(view: VolumeView): VolumeStep | undefined {
  const { volume, image, device } = view;
  // Growing a truncated image would hide that its end is lost.
  if (image === undefined || damageOf(view) !== undefined) return undefined;
  if (image.size < volume.spec.size && !isDeleting(volume)) return { do: "grow-image" };
  // A fenced one shows nothing of its image, whatever is done: its probe records that as a fault.
  const isSmall = device !== undefined && device.fenced !== true && device.sizeBytes < image.size;
  if (isSmall) return { do: "refresh-device" };
  return volume.status?.size === image.size ? undefined : record("size", view);
}

/** Where all is well an old error would only mislead; where it is not, an operator may bring the image back. */
function tidy(view: VolumeView): VolumeStep | undefined {
  const what = damageOf(view);
  if (what !== undefined) return fail("DATA_LOSS", what);
  const { error, ownerID } = view.volume.status ?? {};
  if (isFaulted(view.volume)) return undefined;
  const owned = ownerID === view.nodeID || (view.lease !== undefined && (ownerID ?? "") === "");
  return error === undefined && owned ? undefined : record("settled", view);
}
