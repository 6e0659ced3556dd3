import {
  DONE,
  hasFinalizer,
  isDeleting,
  type KubeVolumeAttachment,
  type Outcome,
  type PersistentVolume,
  wait,
} from "@mooring/store";
import { PV_FINALIZER } from "../common/names.ts";
import type { DriverInfo } from "../csi/driver-info.ts";

/** Everything that the next step for a released volume depends on. */
export interface ReclaimView {
  driver: DriverInfo;
  volume: PersistentVolume | undefined;
  attachments: readonly KubeVolumeAttachment[];
  /** A record still has the call that made the volume: it would be made again, and removed as that of no claim. */
  recorded: boolean;
  /** The driver may be copying it for a snapshot. */
  copied: boolean;
  /** The driver has confirmed in this process that the data is gone. */
  removed: boolean;
  /** Milliseconds until the driver may be asked again. */
  backoffMs: number;
}

/** One visible change for a released volume, or one DeleteVolume. */
export type ReclaimStep =
  | { do: "add-finalizer" }
  | { do: "drop-finalizer" }
  | { do: "delete-data" }
  | { do: "delete-object" }
  | { do: "report-attached"; nodes: string[] };

/** Whether anything may have to be done for a volume that says this, whatever else there is. */
export function mayNeedReclaim(volume: PersistentVolume, driver: string): boolean {
  if (volume.spec?.csi?.driver !== driver) return false;
  const isProtected = hasFinalizer(volume, PV_FINALIZER);
  if (volume.spec.persistentVolumeReclaimPolicy !== "Delete") return isProtected;
  const { phase } = volume.status ?? {};
  if (phase === "Bound") return !isProtected && !isDeleting(volume);
  return phase === "Released" && (!isDeleting(volume) || isProtected);
}

/**
 * The next step for one volume of the driver (K8S-033, K8S-034). The finalizer stands for "the data exists and
 * has to go before the object"; it follows the reclaim policy.
 */
export function decideReclaim(view: ReclaimView): ReclaimStep | Outcome {
  const { driver, volume } = view;
  if (volume === undefined || !mayNeedReclaim(volume, driver.name)) return DONE;
  if (volume.spec?.persistentVolumeReclaimPolicy !== "Delete")
    return view.recorded ? DONE : { do: "drop-finalizer" };
  if (volume.status?.phase === "Bound") return { do: "add-finalizer" };
  if (view.removed) return { do: isDeleting(volume) ? "drop-finalizer" : "delete-object" };
  return decideData(view);
}

function decideData({ driver, attachments, backoffMs, copied }: ReclaimView): ReclaimStep | Outcome {
  if (!driver.can.has("CREATE_DELETE_VOLUME")) return DONE;
  // Whatever has become of the claim: the data stay until the snapshot has them. Its content wakes this volume.
  if (copied) return DONE;
  if (backoffMs > 0) return wait(backoffMs);
  if (!driver.can.has("PUBLISH_UNPUBLISH_VOLUME") || attachments.length === 0) return { do: "delete-data" };
  // The end of an attachment wakes this volume. Only an attachment that no controller is ending is worth a report.
  const staying = attachments.filter((attachment) => !isDeleting(attachment));
  return staying.length === 0
    ? DONE
    : { do: "report-attached", nodes: staying.map(({ spec }) => spec.nodeName) };
}
