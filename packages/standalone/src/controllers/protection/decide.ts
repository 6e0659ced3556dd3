import {
  DONE,
  hasFinalizer,
  isDeleting,
  type KubeObject,
  type PersistentVolume,
  type PersistentVolumeClaim,
} from "@mooring/store";

/** On a claim: it stays while a pod uses it. */
export const CLAIM_FINALIZER = "kubernetes.io/pvc-protection";
/** On a volume: it stays while it is bound. */
export const VOLUME_FINALIZER = "kubernetes.io/pv-protection";

/** A claim, and whether a pod uses it. */
export interface ClaimView {
  object: PersistentVolumeClaim;
  /** A pod that has a node mentions it. Read only when it is being deleted. */
  used: boolean;
}

/** A volume. */
export interface VolumeView {
  object: PersistentVolume;
}

/** One visible change of a finalizer. */
export type ProtectionStep = { do: "add-finalizer" } | { do: "remove-finalizer" } | { do: "done" };

/** A claim stays while a pod that has a node mentions it, even one that has ended: it may be inspected or restarted. */
export function decideClaim({ object, used }: ClaimView): ProtectionStep {
  return decide(object, CLAIM_FINALIZER, used);
}

/** A volume stays while it is bound. */
export function decideVolume({ object }: VolumeView): ProtectionStep {
  return decide(object, VOLUME_FINALIZER, object.status?.phase === "Bound");
}

function decide(object: KubeObject, finalizer: string, used: boolean): ProtectionStep {
  const isProtected = hasFinalizer(object, finalizer);
  if (!isDeleting(object)) return isProtected ? DONE : { do: "add-finalizer" };
  return isProtected && !used ? { do: "remove-finalizer" } : DONE;
}
