import {
  DONE,
  isDeleting,
  type Outcome,
  type PersistentVolume,
  type PersistentVolumeClaim,
  parseQuantity,
  wait,
} from "@mooring/store";
import { PRE_RESIZE_CAPACITY } from "../common/names.ts";
import { chooseMode } from "../csi/access-modes.ts";
import type { Capability } from "../csi/capability.ts";
import type { DriverInfo } from "../csi/driver-info.ts";
import type { SecretRef } from "../secrets/references.ts";
import { type Sizes, sizesOf, targetSize } from "./sizes.ts";

/** What the driver returned last in this process. */
export type ResizeResult =
  | { kind: "expanded"; target: bigint; bytes: bigint; nodeExpansion: boolean }
  | { kind: "refused"; target: bigint };

/** Everything that the next step for a claim's size depends on. */
export interface ResizeView {
  driver: DriverInfo;
  claim: PersistentVolumeClaim | undefined;
  volume: PersistentVolume | undefined;
  /** Nodes that the volume is attached to. */
  attachedTo: readonly string[];
  result: ResizeResult | undefined;
  backoffMs: number;
}

/** Arguments of ControllerExpandVolume, besides the secrets themselves. `bytes` is what is required. */
export interface ExpandArguments {
  handle: string;
  bytes: bigint;
  capability: Capability;
  secret?: SecretRef;
}

/** One visible change on the way to a larger volume, or one ControllerExpandVolume. Sizes in bytes. */
export type ResizeStep =
  /** Persisted before the call: from now on the volume may have that size. */
  | { do: "announce"; target: bigint }
  | { do: "expand"; target: bigint; arguments: ExpandArguments }
  /** For drivers that expand on the node only. */
  | { do: "assume-expanded"; target: bigint }
  | { do: "write-volume"; bytes: bigint; nodeExpansion: boolean }
  /** `allocated`: where it is not what was announced. */
  | { do: "hand-to-node"; allocated?: bigint }
  | { do: "finish"; bytes: bigint }
  | { do: "forget-pre-resize" }
  /** Nothing is to grow any more. `allocated`: what the volume has. */
  | { do: "withdraw"; allocated: bigint }
  | { do: "report"; message: string };

/**
 * Whether the size of a claim that says this may have to be changed, whatever else there is. What its volume alone says, see
 * {@link isPrepared}.
 */
export function mayNeedResize({ spec, status }: PersistentVolumeClaim): boolean {
  if (!spec?.volumeName || status?.phase !== "Bound") return false;
  if (status.allocatedResourceStatuses?.storage !== undefined) return true;
  return (
    parseQuantity(spec.resources?.requests?.storage ?? "0") > parseQuantity(status.capacity?.storage ?? "0")
  );
}

/** The volume notes a size that it had before an expansion. */
export function isPrepared({ metadata }: PersistentVolume): boolean {
  return metadata.annotations?.[PRE_RESIZE_CAPACITY] !== undefined;
}

/** The next step for one bound claim. */
export function decideResize(view: ResizeView): ResizeStep | Outcome {
  const { claim, driver, volume } = view;
  if (claim === undefined || volume === undefined || isDeleting(claim)) return DONE;
  if (volume.spec?.csi?.driver !== driver.name || volume.status?.phase !== "Bound") return DONE;
  if (volume.spec.claimRef?.uid !== claim.metadata.uid || claim.status?.phase !== "Bound") return DONE;
  const sizes = sizesOf(claim, volume);
  const inProgress = sizes.status === "ControllerResizeInProgress";
  const running = inProgress && !(isRefused(view, sizes) && sizes.volume < (sizes.allocated ?? 0n));
  if (sizes.requested > sizes.granted || running) return decideExpansion(view, claim, volume, sizes);
  if (isPrepared(volume) && sizes.granted >= sizes.volume) return { do: "forget-pre-resize" };
  return inProgress || sizes.status === "ControllerResizeInfeasible"
    ? { do: "withdraw", allocated: sizes.volume }
    : DONE;
}

/** The driver has refused for certain what is announced. */
function isRefused({ result }: ResizeView, { allocated }: Sizes): boolean {
  return result?.kind === "refused" && result.target === allocated;
}

function decideExpansion(
  view: ResizeView,
  claim: PersistentVolumeClaim,
  volume: PersistentVolume,
  sizes: Sizes,
): ResizeStep | Outcome {
  const { result, driver } = view;
  const controller = driver.can.has("EXPAND_VOLUME");
  const target = targetSize(sizes, isRefused(view, sizes), controller);
  if (target === undefined) return DONE;
  if (result?.kind === "expanded" && result.target === target && sizes.volume < result.bytes)
    return { do: "write-volume", bytes: result.bytes, nodeExpansion: result.nodeExpansion };
  const announced = sizes.status === "ControllerResizeInProgress" && sizes.allocated === target;
  if (announced && sizes.volume >= target) return decideHandOver(volume, sizes);
  // The node has failed, so it has a part in it, whatever the volume notes: another sidecar may have expanded it.
  if (sizes.status === "NodeResizeInfeasible" && sizes.volume >= target)
    return { do: "hand-to-node", allocated: target };
  if (view.backoffMs > 0) return wait(view.backoffMs);
  if (!announced) return { do: "announce", target };
  if (!controller) return { do: "assume-expanded", target };
  if (driver.expansion === "offline" && view.attachedTo.length > 0)
    return {
      do: "report",
      message: `the volume is attached to ${view.attachedTo.join(", ")} and can only be expanded while it is not`,
    };
  return expandStep(view, claim, volume, target);
}

/**
 * The volume's object has the new size, so the driver has responded. Whether a node has work left was written into the
 * annotation together with it: the driver would reply "no" to the same call now.
 */
function decideHandOver(volume: PersistentVolume, sizes: Sizes): ResizeStep {
  return isPrepared(volume) ? { do: "hand-to-node" } : { do: "finish", bytes: sizes.volume };
}

function expandStep(
  { driver }: ResizeView,
  claim: PersistentVolumeClaim,
  volume: PersistentVolume,
  target: bigint,
): ResizeStep {
  const { accessModes = [], csi, mountOptions = [], volumeMode } = volume.spec ?? {};
  const choice = chooseMode(accessModes, driver.can.has("SINGLE_NODE_MULTI_WRITER"));
  if ("error" in choice) return { do: "report", message: choice.error };
  const mount = { fsType: csi?.fsType ?? "", mountFlags: mountOptions };
  const block = (volumeMode ?? claim.spec?.volumeMode) === "Block";
  const { name, namespace } = csi?.controllerExpandSecretRef ?? {};
  return {
    do: "expand",
    target,
    arguments: {
      handle: csi?.volumeHandle ?? "",
      bytes: target,
      capability: block ? choice : { ...choice, mount },
      ...(name && namespace ? { secret: { name, namespace } } : {}),
    },
  };
}

/** The key of a back-off after a failure: another size, or another use of the volume, ends it. */
export function resizeRequestKey({ claim, attachedTo, volume }: ResizeView): string {
  return JSON.stringify([
    claim?.spec?.resources?.requests?.storage,
    volume?.spec?.csi?.controllerExpandSecretRef,
    attachedTo.length === 0,
  ]);
}
