import {
  hasFinalizer,
  isDeleting,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
} from "@mooring/store";
import { claimKeysOf } from "../pod-claims.ts";

export const CLAIM_FINALIZER = "kubernetes.io/pvc-protection";
export const VOLUME_FINALIZER = "kubernetes.io/pv-protection";

export type Protection = "add" | "remove" | "keep";

/** A claim stays while a pod that has a node mentions it, even one that has ended: it may be looked at or restarted. */
export function decideClaim(claim: PersistentVolumeClaim, pods: readonly Pod[]): Protection {
  if (!isDeleting(claim)) return hasFinalizer(claim, CLAIM_FINALIZER) ? "keep" : "add";
  if (!hasFinalizer(claim, CLAIM_FINALIZER)) return "keep";
  return pods.some((pod) => usesClaim(pod, claim)) ? "keep" : "remove";
}

/** A volume stays while it is bound. */
export function decideVolume(volume: PersistentVolume): Protection {
  if (!isDeleting(volume)) return hasFinalizer(volume, VOLUME_FINALIZER) ? "keep" : "add";
  if (!hasFinalizer(volume, VOLUME_FINALIZER)) return "keep";
  return volume.status?.phase === "Bound" ? "keep" : "remove";
}

function usesClaim(pod: Pod, claim: PersistentVolumeClaim): boolean {
  // Without a node no kubelet will start it any more: kubelets refuse claims that are being deleted.
  if (!pod.spec?.nodeName) return false;
  return claimKeysOf(pod).includes(`${claim.metadata.namespace}/${claim.metadata.name}`);
}
