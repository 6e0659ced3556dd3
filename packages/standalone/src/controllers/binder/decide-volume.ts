import { DONE, type Outcome, type PersistentVolume, type PersistentVolumeClaim, wait } from "@mooring/store";
import * as names from "./names.ts";

/** Everything that the next step for a volume depends on. */
export interface VolumeView {
  volume: PersistentVolume;
  /** The claim that claimRef names; another one of the same name does not count. */
  claim: PersistentVolumeClaim | undefined;
}

/** One visible change of a volume. */
export type VolumeStep =
  | { do: "set-phase"; phase: "Available" | "Bound" | "Released" }
  /** Takes back a reservation that this controller made, so that another claim may have the volume. */
  | { do: "unreserve" }
  /** Takes the uid out of a reservation that an operator made. */
  | { do: "reset-reservation" };

/** What follows for a volume from its claim. Reclaiming by `Delete` is the provisioner's, once the phase is Released. */
export function decideVolume({ volume, claim }: VolumeView): VolumeStep | Outcome {
  const reference = volume.spec?.claimRef;
  if (reference === undefined || !reference.uid) return setPhase(volume, "Available");
  if (claim === undefined) return volume.status?.phase === "Failed" ? wait() : setPhase(volume, "Released");
  // The claim's own side of the bind comes next; see decide-claim.
  if (!claim.spec?.volumeName) return wait();
  if (claim.spec.volumeName === volume.metadata.name) return setPhase(volume, "Bound");
  return claimWentElsewhere(volume);
}

function claimWentElsewhere(volume: PersistentVolume): VolumeStep | Outcome {
  const annotations = volume.metadata.annotations ?? {};
  const dynamic = annotations[names.PROVISIONED_BY] !== undefined;
  if (dynamic && volume.spec?.persistentVolumeReclaimPolicy === "Delete") return setPhase(volume, "Released");
  return annotations[names.BOUND_BY_CONTROLLER] === undefined
    ? { do: "reset-reservation" }
    : { do: "unreserve" };
}

function setPhase(volume: PersistentVolume, phase: "Available" | "Bound" | "Released"): VolumeStep | Outcome {
  return volume.status?.phase === phase ? DONE : { do: "set-phase", phase };
}
