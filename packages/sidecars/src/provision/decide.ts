import { Code } from "@mooring/csi";
import {
  DONE,
  defined,
  type Outcome,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type StorageClass,
  wait,
} from "@mooring/store";
import type { Intent, SourceRef } from "../common/create-volume/intent.ts";
import { PROVISIONED_BY } from "../common/names.ts";
import { type CallFailure, isCreateVolumeUncertain, provesNothingMade } from "../csi/codes.ts";
import type { DriverInfo } from "../csi/driver-info.ts";
import { stillWanted, wantsVolume } from "./claim.ts";
import type { Plan } from "./plan.ts";

/** A volume that the driver has made. */
export interface CreatedVolume {
  handle: string;
  /** Decimal number of bytes; "0" when the driver did not say. */
  capacityBytes: string;
  attributes: Record<string, string>;
  accessibleTopology: Record<string, string>[];
  hasSource: boolean;
}

/** What the driver last returned in this process. Lost with it: the record then leads to the same call again. */
export type CallResult =
  | { kind: "created"; volume: CreatedVolume }
  | { kind: "removed"; error?: string }
  | { kind: "failed"; failure: CallFailure };

/** Everything that the next step for a claim's UID depends on. */
export interface ProvisionView {
  driver: DriverInfo;
  /** The claim with the key's UID; absent when it is gone. */
  claim: PersistentVolumeClaim | undefined;
  storageClass: StorageClass | undefined;
  /** Another node is to make the volume, or may be making it. */
  elsewhere: boolean;
  /** Present from before the first CreateVolume until its outcome is known and settled. */
  record: Intent | undefined;
  /** The PersistentVolume of the record's (or the future record's) name. */
  volume: PersistentVolume | undefined;
  result: CallResult | undefined;
  /** Made only for claims that want a volume and have no record. */
  plan: Plan | undefined;
  /** An earlier call may have made the volume. */
  mayExist: boolean;
  /** The plan's source is known to carry our finalizer. */
  sourceProtected: boolean;
  /** Milliseconds until the driver may be asked again. */
  backoffMs: number;
}

/** One visible change on the way to a PersistentVolume, or one call to the driver. */
export type ProvisionStep =
  /** `unpopulated`: no populator has registered to fill volumes from it. */
  | { do: "announce-populator"; what: string; unpopulated?: true }
  /** `pending`: time alone may help. */
  | { do: "report"; error: string; pending?: true }
  | { do: "reschedule"; error: string }
  | { do: "protect-source"; source: SourceRef }
  | { do: "save-intent"; intent: Intent }
  | { do: "create-volume"; intent: Intent; wanted: boolean }
  | { do: "create-pv"; intent: Intent; volume: CreatedVolume }
  /** Deletes a volume that no claim wants any more or that is not what was asked for. */
  | { do: "delete-volume"; intent: Intent; handle: string; error?: string }
  | { do: "delete-intent"; intent: Intent; outcome: "provisioned" | "failed" | "removed" };

/** The next step for one claim UID (docs/architecture.md, "Provision"). */
export function decideProvision(view: ProvisionView): ProvisionStep | Outcome {
  return view.record === undefined ? decideStart(view) : decideOutcome(view, view.record);
}

/** The next step while the driver has not been called. */
function decideStart(view: ProvisionView): ProvisionStep | Outcome {
  const { claim, driver, plan, storageClass } = view;
  if (claim === undefined || view.elsewhere || !wantsVolume(claim, storageClass, driver.name)) return DONE;
  if (view.volume !== undefined && view.volume.spec?.claimRef?.uid === claim.metadata.uid) return DONE;
  if (view.backoffMs > 0) return wait(view.backoffMs);
  if (view.volume !== undefined)
    return { do: "report", error: `volume ${view.volume.metadata.name} exists and belongs to another claim` };
  if (plan === undefined) return DONE;
  if (plan.kind === "foreign") {
    const { what, unpopulated } = plan;
    return { do: "announce-populator", what, ...defined({ unpopulated }) };
  }
  if (plan.kind === "error") {
    const { error, pending } = plan;
    return { do: "report", error, ...defined({ pending }) };
  }
  if (plan.kind === "reschedule") return { do: "reschedule", error: plan.error };
  const { intent } = plan;
  if (intent.source !== undefined && !view.sourceProtected)
    return { do: "protect-source", source: intent.source };
  return { do: "save-intent", intent };
}

/** The next step once we have, or may have, called CreateVolume with the arguments of `intent`. */
function decideOutcome(view: ProvisionView, intent: Intent): ProvisionStep | Outcome {
  const { result, volume } = view;
  const wanted = stillWanted(view.claim, intent.arguments.name);
  const made = result?.kind === "created" ? result.volume : undefined;
  if (isOurs(volume, intent, made)) return { do: "delete-intent", intent, outcome: "provisioned" };
  if (made !== undefined) {
    const error = volume === undefined ? problemWith(made, intent) : "another volume took the place";
    if (wanted && error === undefined) return { do: "create-pv", intent, volume: made };
    if (view.backoffMs > 0) return wait(view.backoffMs);
    return { do: "delete-volume", intent, handle: made.handle, ...defined({ error }) };
  }
  if (result?.kind === "removed")
    return { do: "delete-intent", intent, outcome: result.error === undefined ? "removed" : "failed" };
  if (result?.kind === "failed" && isSettled(result.failure, view.mayExist))
    return afterFinalFailure(view, intent, result.failure, wanted);
  if (view.backoffMs > 0) return wait(view.backoffMs);
  return { do: "create-volume", intent, wanted };
}

function isSettled(failure: CallFailure, mayExist: boolean): boolean {
  return provesNothingMade(failure, isCreateVolumeUncertain(failure), mayExist);
}

/**
 * Whether the PersistentVolume is that of the driver's volume. It may have been given to another claim since: a populator
 * does that when it has filled the volume, and what is in it then is that claim's.
 */
function isOurs(
  volume: PersistentVolume | undefined,
  { claim, driver }: Intent,
  made: CreatedVolume | undefined,
): boolean {
  const { csi, claimRef } = volume?.spec ?? {};
  if (csi?.driver !== driver) return false;
  if (made !== undefined) return csi.volumeHandle === made.handle;
  return claimRef?.uid === claim.uid || volume?.metadata.annotations?.[PROVISIONED_BY] === driver;
}

/**
 * The next step when the driver's response proves that there is no volume. Where there is no room, another node may have
 * some.
 */
function afterFinalFailure(
  view: ProvisionView,
  intent: Intent,
  failure: CallFailure,
  wanted: boolean,
): ProvisionStep {
  const full = failure.code === Code.RESOURCE_EXHAUSTED && view.driver.topology;
  const chosen = view.claim?.metadata.annotations?.["volume.kubernetes.io/selected-node"];
  if (wanted && full && intent.selectedNode !== undefined && chosen === intent.selectedNode)
    return { do: "reschedule", error: failure.message };
  return { do: "delete-intent", intent, outcome: "failed" };
}

/** A volume that does not keep what was asked for must not be used. */
function problemWith(volume: CreatedVolume, intent: Intent): string | undefined {
  const got = BigInt(volume.capacityBytes);
  const asked = BigInt(intent.arguments.capacityRange.requiredBytes);
  if (got !== 0n && got < asked)
    return `created volume capacity ${got} is less than the requested capacity ${asked}`;
  if (intent.arguments.volumeContentSource !== undefined && !volume.hasSource)
    return "the driver made an empty volume instead of a copy of the data source";
  return undefined;
}
