import {
  DONE,
  defined,
  isDeleting,
  type Outcome,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type VolumeAttributesClass,
  wait,
} from "@mooring/store";
import { MODIFY_SECRET_NAME, MODIFY_SECRET_NAMESPACE } from "../common/names.ts";
import type { DriverInfo } from "../csi/driver-info.ts";
import type { SecretRef } from "../secrets/references.ts";

/** What the driver returned last in this process about a claim's volume and this class. */
export interface ModifyResult {
  kind: "modified" | "refused";
  /** Name of the class. */
  target: string;
}

/** Everything that the next step for a claim's VolumeAttributesClass depends on. */
export interface ModifyView {
  driver: DriverInfo;
  claim: PersistentVolumeClaim | undefined;
  volume: PersistentVolume | undefined;
  /** The one that {@link targetOf} names. */
  attributesClass: VolumeAttributesClass | undefined;
  result: ModifyResult | undefined;
  backoffMs: number;
}

/** One visible change on the way to another VolumeAttributesClass, or one ControllerModifyVolume. */
export type ModifyStep =
  /** Persisted before the call: from now on the volume may have the attributes of the class. */
  | { do: "announce"; target: string }
  | { do: "modify"; target: string; handle: string; parameters: Record<string, string>; secret?: SecretRef }
  | { do: "write-volume"; target: string }
  | { do: "finish"; target: string }
  /** The class cannot be applied until an administrator makes or changes it; what may have been made stays "InProgress". */
  | { do: "report"; target: string; status: "Pending" | "InProgress" | "Infeasible"; message: string }
  /** The user does not want the change any more, and it has not been made. */
  | { do: "cancel"; target: string };

/** The next step towards the VolumeAttributesClass that a bound claim asks for. */
export function decideModify(view: ModifyView): ModifyStep | Outcome {
  const { result, claim, driver, volume } = view;
  if (claim === undefined || volume === undefined || isDeleting(claim)) return DONE;
  if (volume.spec?.csi?.driver !== driver.name || volume.spec.claimRef?.uid !== claim.metadata.uid)
    return DONE;
  if (claim.status?.phase !== "Bound") return DONE;
  const { current, running, started } = progressOf(claim);
  const target = targetOf(claim, result);
  if (target === undefined) return started === undefined ? DONE : { do: "cancel", target: started };
  if (result?.kind === "modified" && result.target === target)
    return volume.spec.volumeAttributesClassName === target
      ? { do: "finish", target }
      : { do: "write-volume", target };
  // Made with this class, and no status has it yet.
  const asMade = current === "" && started === undefined;
  if (asMade && volume.spec.volumeAttributesClassName === target) return { do: "finish", target };
  if (view.backoffMs > 0) return wait(view.backoffMs);
  return callStep(view, volume, { target, announced: running && started === target });
}

function callStep(
  { attributesClass, driver }: ModifyView,
  volume: PersistentVolume,
  { target, announced }: { target: string; announced: boolean },
): ModifyStep {
  const refuse = (status: "Pending" | "Infeasible", message: string): ModifyStep => ({
    do: "report",
    target,
    status: announced ? "InProgress" : status,
    message,
  });
  if (attributesClass === undefined)
    return refuse("Pending", `VolumeAttributesClass ${target} does not exist`);
  const { driverName, parameters = {} } = attributesClass;
  if (driverName !== driver.name) {
    const message = `VolumeAttributesClass ${target} is for driver ${driverName}, the volume is of ${driver.name}`;
    return refuse("Infeasible", message);
  }
  if (!announced) return { do: "announce", target };
  const secret = secretOf(volume);
  const handle = volume.spec?.csi?.volumeHandle ?? "";
  return { do: "modify", target, handle, parameters, ...defined({ secret }) };
}

/** Whether a claim that says this may be on its way from one class to another, whatever else there is. */
export function mayNeedModify(claim: PersistentVolumeClaim): boolean {
  const { current, started } = progressOf(claim);
  const wanted = claim.spec?.volumeAttributesClassName ?? "";
  return started !== undefined || (wanted !== "" && wanted !== current);
}

/**
 * The class to bring the volume to; undefined: none. A change that may have been made comes first, whatever the user wishes
 * now: only a clear refusal ends it, because otherwise it would not be known which attributes the volume has.
 */
export function targetOf(claim: PersistentVolumeClaim, result: ModifyResult | undefined): string | undefined {
  const { current, running, started } = progressOf(claim);
  const refused = result?.kind === "refused" && result.target === started;
  if (running && !refused) return started;
  const wanted = claim.spec?.volumeAttributesClassName ?? "";
  return wanted === "" || wanted === current ? undefined : wanted;
}

interface Progress {
  /** Name of the class in force; "" when there is none. */
  current: string;
  /** Name of the class that a change is, or was, on the way to. */
  started: string | undefined;
  /** The driver has been asked, or is about to be. */
  running: boolean;
}

function progressOf({ status }: PersistentVolumeClaim): Progress {
  const change = status?.modifyVolumeStatus;
  return {
    current: status?.currentVolumeAttributesClassName ?? "",
    started: change === undefined ? undefined : (change.targetVolumeAttributesClassName ?? ""),
    running: change?.status === "InProgress",
  };
}

/** Recorded on the volume when it was made; else that of expansions. */
function secretOf({ metadata, spec }: PersistentVolume): SecretRef | undefined {
  const { annotations = {} } = metadata;
  const expand = spec?.csi?.controllerExpandSecretRef;
  const name = annotations[MODIFY_SECRET_NAME] ?? expand?.name;
  const namespace = annotations[MODIFY_SECRET_NAMESPACE] ?? expand?.namespace;
  return name && namespace ? { name, namespace } : undefined;
}

/** The key of a back-off after a failure: another class, or another object of that name, ends it. */
export function modifyRequestKey({ claim, attributesClass, volume }: ModifyView): string {
  return JSON.stringify([
    claim?.spec?.volumeAttributesClassName,
    attributesClass?.metadata.uid,
    attributesClass?.driverName,
    attributesClass?.parameters,
    volume === undefined ? undefined : secretOf(volume),
  ]);
}
