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

/**
 * The next step for one volume of the driver (K8S-033, K8S-034). The finalizer stands for "the data exists and
 * has to go before the object"; it follows the reclaim policy.
 */
export function decideReclaim(view: ReclaimView): ReclaimStep | Outcome {
  const { driver, volume } = view;
  if (volume?.spec?.csi?.driver !== driver.name) return DONE;
  const isProtected = hasFinalizer(volume, PV_FINALIZER);
  if (volume.spec.persistentVolumeReclaimPolicy !== "Delete")
    return isProtected && !view.recorded ? { do: "drop-finalizer" } : DONE;
  const { phase } = volume.status ?? {};
  if (phase === "Bound" && !isProtected && !isDeleting(volume)) return { do: "add-finalizer" };
  if (phase !== "Released" || (isDeleting(volume) && !isProtected)) return DONE;
  if (view.removed) {
    if (!isDeleting(volume)) return { do: "delete-object" };
    return isProtected ? { do: "drop-finalizer" } : DONE;
  }
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
