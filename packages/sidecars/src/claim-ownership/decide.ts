import { DONE, type Outcome, type PersistentVolumeClaim, type StorageClass, wait } from "@mooring/store";
import type { Here } from "../common/here.ts";
import type { DriverInfo } from "../csi/driver-info.ts";
import { selectedNodeOf, wantsVolume } from "../provision/claim.ts";
import { flattenAllowed, includesTerm, type Segments } from "../topology/terms.ts";

/** GetCapacity for the volume that a claim would get here. */
export interface CapacityRequest {
  bytes: bigint;
  parameters: Record<string, string>;
  /** One of these places has to have room. */
  places: readonly Segments[];
}

/** Everything that the next step for a claim without a node depends on. */
export interface OwnershipView {
  driver: DriverInfo;
  here: Here;
  claim: PersistentVolumeClaim | undefined;
  storageClass: StorageClass | undefined;
  /** A volume of the claim's is there, or has been asked for. */
  isUnderWay: boolean;
  /** What it is to be a copy of is another node's. */
  sourceElsewhere: boolean;
  /** Absent where the volume cannot be asked for as it is: who takes the claim reports why. */
  request: CapacityRequest | undefined;
  /** What the driver said to it. */
  hasRoom: boolean | undefined;
  /** Milliseconds until this node may try. */
  delayMs: number;
}

/** One change of a claim without a node, or one GetCapacity. */
export type OwnershipStep = { do: "ask-driver"; request: CapacityRequest } | { do: "select-node" };

/** Whether any node that can make the volume may take the claim: its class binds at once, and no node has it. */
export function isUnowned({
  claim,
  driver,
  storageClass,
}: Pick<OwnershipView, "claim" | "driver" | "storageClass">) {
  if (claim === undefined || selectedNodeOf(claim) !== undefined) return false;
  return wantsVolume(claim, storageClass, driver.name);
}

/** The next step for one claim with immediate binding: the node that writes its name on it makes the volume. */
export function decideOwnership(view: OwnershipView): OwnershipStep | Outcome {
  const { delayMs, driver, hasRoom, request } = view;
  if (!isUnowned(view) || view.isUnderWay || view.sourceElsewhere || !isAllowed(view)) return DONE;
  if (delayMs > 0) return wait(delayMs);
  if (request === undefined || hasRoom === true || !driver.can.has("GET_CAPACITY"))
    return { do: "select-node" };
  return { do: "ask-driver", request };
}

function isAllowed({ here, storageClass }: OwnershipView): boolean {
  const allowed = flattenAllowed(storageClass?.allowedTopologies ?? []);
  return allowed.length === 0 || allowed.some((term) => includesTerm(here.segments, term));
}
