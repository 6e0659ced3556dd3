import { type PersistentVolume, type PersistentVolumeClaim, parseQuantity } from "@mooring/store";

/** `status.allocatedResourceStatuses.storage` of a claim (KEP 1790); empty: no expansion is under way. */
export type ResizeStatus =
  | "ControllerResizeInProgress"
  | "ControllerResizeInfeasible"
  | "NodeResizePending"
  | "NodeResizeInProgress"
  | "NodeResizeInfeasible"
  | "";

/** The sizes and the state that a claim's expansion is decided from. All sizes in bytes. */
export interface Sizes {
  requested: bigint;
  /** What the claim has, as its user sees it. */
  granted: bigint;
  /** What the volume's object has. */
  volume: bigint;
  /** What an expansion under way goes to. */
  allocated: bigint | undefined;
  status: ResizeStatus;
  fileSystemPending: boolean;
}

/** The sizes that claim and volume say, in bytes. */
export function sizesOf(claim: PersistentVolumeClaim, volume: PersistentVolume): Sizes {
  const { allocatedResources, allocatedResourceStatuses, capacity, conditions = [] } = claim.status ?? {};
  const allocated = allocatedResources?.storage;
  return {
    requested: parseQuantity(claim.spec?.resources?.requests?.storage ?? "0"),
    granted: parseQuantity(capacity?.storage ?? "0"),
    volume: parseQuantity(volume.spec?.capacity?.storage ?? "0"),
    allocated: allocated === undefined ? undefined : parseQuantity(allocated),
    status: (allocatedResourceStatuses?.storage ?? "") as ResizeStatus,
    fileSystemPending: conditions.some(
      ({ type, status }) => type === "FileSystemResizePending" && status === "True",
    ),
  };
}

/**
 * The size to ask the driver for; undefined: nothing to do here. An expansion that may have happened is finished
 * before the user's newer wish is followed, because no volume may shrink. `failedForGood` means that the driver
 * has refused the running expansion for certain; `controller` that it expands volumes itself.
 */
export function targetSize(sizes: Sizes, failedForGood: boolean, controller: boolean): bigint | undefined {
  const { allocated, fileSystemPending, requested, status, volume } = sizes;
  const running = allocated ?? requested;
  if (volume < requested) {
    switch (status) {
      case "NodeResizeInfeasible":
        return running;
      case "NodeResizePending":
      case "NodeResizeInProgress":
        return volume >= running ? undefined : running;
      case "ControllerResizeInProgress":
        return failedForGood ? requested : running;
      default:
        return requested;
    }
  }
  switch (status) {
    case "NodeResizePending":
    case "NodeResizeInProgress":
      return undefined;
    case "NodeResizeInfeasible":
      return controller ? running : requested;
    case "ControllerResizeInProgress":
    case "ControllerResizeInfeasible":
      return running;
    default:
      if (allocated !== undefined && allocated > sizes.granted) return allocated;
      return fileSystemPending ? undefined : requested;
  }
}
