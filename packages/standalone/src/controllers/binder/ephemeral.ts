import {
  defined,
  failpoint,
  isAlreadyExists,
  isOwnedBy,
  type ObjectStore,
  ownerReferenceTo,
  type PersistentVolumeClaim,
  PersistentVolumeClaims,
  type Pod,
} from "@mooring/store";
import type { ClusterView } from "../cluster-view.ts";
import { claimNameOf, isFinished } from "../pod-claims.ts";

const afterCreate = failpoint("standalone/binder/ephemeral-claim-created");

/** The claims that a pod brings along (generic ephemeral volumes) and that do not exist yet. They go with the pod. */
export function missingClaims(pod: Pod, exists: (key: string) => boolean): PersistentVolumeClaim[] {
  if (pod.metadata.deletionTimestamp !== undefined || isFinished(pod)) return [];
  return (pod.spec?.volumes ?? []).flatMap((volume): PersistentVolumeClaim[] => {
    const name = claimNameOf(pod, volume);
    const template = volume.ephemeral?.volumeClaimTemplate;
    const namespace = pod.metadata.namespace ?? "";
    if (name === undefined || template === undefined || exists(`${namespace}/${name}`)) return [];
    const { labels, annotations } = template.metadata ?? {};
    return [
      {
        apiVersion: "v1",
        kind: "PersistentVolumeClaim",
        metadata: {
          name,
          namespace,
          ownerReferences: [ownerReferenceTo(pod)],
          ...defined({ labels, annotations }),
        },
        spec: template.spec,
      },
    ];
  });
}

export async function createClaims(store: ObjectStore, view: ClusterView, key: string): Promise<void> {
  const pod = view.pods.get(key);
  if (pod === undefined) return;
  for (const claim of missingClaims(pod, (name) => view.claims.get(name) !== undefined)) {
    try {
      await store.create(PersistentVolumeClaims, claim);
      afterCreate();
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }
}

/** A claim of the right name that somebody else made is not the pod's: its data would be used, and deleted with it. */
export function isForeign(claim: PersistentVolumeClaim, pod: Pod): boolean {
  const ephemeral = (pod.spec?.volumes ?? []).some(
    (volume) => volume.ephemeral !== undefined && claimNameOf(pod, volume) === claim.metadata.name,
  );
  return ephemeral && !isOwnedBy(claim, pod.metadata.uid ?? "");
}
