import {
  DONE,
  isDeleting,
  isOutcome,
  type Outcome,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type StorageClass,
  wait,
} from "@mooring/store";
import { findVolume, isReservedFor, mismatch } from "./match.ts";
import * as names from "./names.ts";

/** Everything that the next step for a claim depends on. */
export interface ClaimView {
  claim: PersistentVolumeClaim;
  /** Free volumes of the claim's class, and those reserved for it. */
  candidates: readonly PersistentVolume[];
  /** The volume that spec.volumeName names, if there is one. */
  named: PersistentVolume | undefined;
  /** The class that spec.storageClassName names, if there is one. */
  storageClass: StorageClass | undefined;
  /** The class for claims that name none. */
  defaultClass: StorageClass | undefined;
}

/** An event for the claim. */
export interface Notice {
  type: "Normal" | "Warning";
  reason: string;
  message: string;
}

/** The next write that brings a claim forward. Each is one object; afterwards everything is read again. */
export type ClaimStep =
  | { do: "set-class"; name: string }
  | { do: "reserve"; volume: PersistentVolume }
  | { do: "mark-volume-bound"; volume: PersistentVolume }
  | { do: "bind-claim"; volume: PersistentVolume }
  | { do: "set-bound-status"; volume: PersistentVolume }
  | { do: "set-phase"; phase: "Pending" | "Lost"; notice?: Notice }
  | { do: "request-provisioning"; provisioner: string; notice?: Notice }
  /** Emits an event with what the claim waits for. */
  | { do: "report"; notice: Notice };

/** As {@link decideClaim}, but waits where the event is reported already. */
export function decideUnreported(
  view: ClaimView & { isReported: (notice: Notice) => boolean },
): ClaimStep | Outcome {
  const step = decideClaim(view);
  return step.do === "report" && view.isReported(step.notice) ? wait() : step;
}

/** The next step for a claim. Pure. */
export function decideClaim(view: ClaimView): ClaimStep | Outcome {
  const { claim } = view;
  const step = isComplete(claim) ? decideBound(view) : decideUnbound(view);
  // Every claim gets a phase before anything else may be reported about it.
  const waits = isOutcome(step) || step.do === "report";
  if (waits && !isComplete(claim) && claim.status?.phase !== "Pending") {
    return { do: "set-phase", phase: "Pending" };
  }
  return step;
}

/** True when the claim is bound, and has all that a bound claim has. */
export function isComplete(claim: PersistentVolumeClaim): boolean {
  return claim.metadata.annotations?.[names.BIND_COMPLETED] !== undefined;
}

function decideUnbound(view: ClaimView): ClaimStep | Outcome {
  const { claim, named, candidates } = view;
  if (claim.spec?.volumeName) return decideNamed(view, named);
  // Nothing new for a claim that is going away.
  if (isDeleting(claim)) return wait();
  if (claim.spec?.storageClassName === undefined && view.defaultClass !== undefined) {
    return { do: "set-class", name: view.defaultClass.metadata.name };
  }
  const delayed = waitsForNode(view);
  const volume = findVolume(
    claim,
    candidates.filter((each) => !delayed || isReservedFor(each, claim)),
  );
  if (volume !== undefined) return bind(view, volume);
  return delayed ? waitForConsumer() : decideProvisioning(view);
}

/** True while the scheduler has still to choose a node. */
function waitsForNode({ claim, storageClass }: ClaimView): boolean {
  if (storageClass?.volumeBindingMode !== "WaitForFirstConsumer") return false;
  return !claim.metadata.annotations?.[names.SELECTED_NODE];
}

function waitForConsumer(): ClaimStep {
  const message = "waiting for first consumer to be created before binding";
  return { do: "report", notice: { type: "Normal", reason: "WaitForFirstConsumer", message } };
}

function decideProvisioning({ claim, storageClass }: ClaimView): ClaimStep | Outcome {
  const className = claim.spec?.storageClassName ?? "";
  if (className === "") {
    const message = "no persistent volumes available for this claim and no storage class is set";
    return { do: "report", notice: { type: "Normal", reason: "FailedBinding", message } };
  }
  if (storageClass === undefined) {
    const message = `storageclass.storage.k8s.io "${className}" not found`;
    return { do: "report", notice: { type: "Warning", reason: "ProvisioningFailed", message } };
  }
  const { provisioner } = storageClass;
  if (provisioner === names.NO_PROVISIONER) {
    const message = `no persistent volumes of class "${className}" are available, and the class does not make any`;
    return { do: "report", notice: { type: "Normal", reason: "FailedBinding", message } };
  }
  const message = `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`;
  const notice: Notice = { type: "Normal", reason: "ExternalProvisioning", message };
  const annotations = claim.metadata.annotations ?? {};
  const asked = [names.STORAGE_PROVISIONER, names.BETA_STORAGE_PROVISIONER].every(
    (name) => annotations[name] === provisioner,
  );
  return asked ? { do: "report", notice } : { do: "request-provisioning", provisioner, notice };
}

/** A volume was chosen by name: by an operator, or by this controller before it was interrupted. */
function decideNamed(view: ClaimView, volume: PersistentVolume | undefined): ClaimStep | Outcome {
  const { claim } = view;
  if (volume === undefined) return wait();
  if (volume.spec?.claimRef === undefined) {
    const problem = mismatch(volume, claim);
    if (problem === undefined) return bind(view, volume);
    const message = `Cannot bind to requested volume "${volume.metadata.name}": ${problem}`;
    return { do: "report", notice: { type: "Warning", reason: "VolumeMismatch", message } };
  }
  if (isReservedFor(volume, claim)) return bind(view, volume);
  const message = `volume "${volume.metadata.name}" already bound to a different claim.`;
  return { do: "report", notice: { type: "Warning", reason: "FailedBinding", message } };
}

function decideBound(view: ClaimView): ClaimStep | Outcome {
  const { claim, named } = view;
  if (!claim.spec?.volumeName) {
    return lost(
      claim,
      "ClaimLost",
      "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!",
    );
  }
  if (named === undefined) {
    return lost(claim, "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!");
  }
  if (named.spec?.claimRef === undefined || isReservedFor(named, claim)) return bind(view, named);
  return lost(
    claim,
    "ClaimMisbound",
    "Two claims are bound to the same volume, this one is bound incorrectly",
  );
}

function lost(claim: PersistentVolumeClaim, reason: string, message: string): ClaimStep | Outcome {
  if (claim.status?.phase === "Lost") return wait();
  return { do: "set-phase", phase: "Lost", notice: { type: "Warning", reason, message } };
}

/**
 * Binding is four writes to two objects. The volume's reference comes first: with it no other claim takes the volume, and
 * from it an interrupted bind is found and finished.
 */
function bind({ claim }: ClaimView, volume: PersistentVolume): ClaimStep | Outcome {
  if (!volume.spec?.claimRef?.uid) return { do: "reserve", volume };
  if (volume.status?.phase !== "Bound") return { do: "mark-volume-bound", volume };
  if (claim.spec?.volumeName !== volume.metadata.name || !isComplete(claim))
    return { do: "bind-claim", volume };
  if (claim.status?.phase !== "Bound") return { do: "set-bound-status", volume };
  return DONE;
}
