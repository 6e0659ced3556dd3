import {
  defined,
  isOwnedBy,
  keyOf,
  ownerReferenceTo,
  type PersistentVolumeClaim,
  type Pod,
  type ReadContext,
  type WrittenCache,
} from "@mooring/store";
import type { ClusterView } from "../cluster-view.ts";
import { claimNameOf, isFinished } from "../pod-claims.ts";
import type { EphemeralView } from "./decide.ts";

/** The claims that a pod brings along (generic ephemeral volumes) and that do not exist yet. They go with the pod. */
export async function readMissingClaims(
  key: string,
  claims: WrittenCache<PersistentVolumeClaim>,
  { pods }: Pick<ClusterView, "pods">,
  { reader, fresh }: ReadContext,
): Promise<EphemeralView | undefined> {
  const pod = reader.over(pods).get(key);
  if (pod === undefined) return undefined;
  const wanted = claimsOf(pod);
  if (fresh) for (const claim of wanted) await claims.refresh(keyOf(claim));
  return wanted.filter((claim) => reader.over(claims).get(keyOf(claim)) === undefined);
}

function claimsOf(pod: Pod): PersistentVolumeClaim[] {
  if (pod.metadata.deletionTimestamp !== undefined || isFinished(pod)) return [];
  return (pod.spec?.volumes ?? []).flatMap((volume): PersistentVolumeClaim[] => {
    const name = claimNameOf(pod, volume);
    const template = volume.ephemeral?.volumeClaimTemplate;
    if (name === undefined || template === undefined) return [];
    const { labels, annotations } = template.metadata ?? {};
    return [
      {
        apiVersion: "v1",
        kind: "PersistentVolumeClaim",
        metadata: {
          name,
          namespace: pod.metadata.namespace ?? "",
          ownerReferences: [ownerReferenceTo(pod)],
          ...defined({ labels, annotations }),
        },
        spec: template.spec,
      },
    ];
  });
}

/** A claim of the right name that another client made is not the pod's: its data would be used, and deleted with it. */
export function isForeign(claim: PersistentVolumeClaim, pod: Pod): boolean {
  const ephemeral = (pod.spec?.volumes ?? []).some(
    (volume) => volume.ephemeral !== undefined && claimNameOf(pod, volume) === claim.metadata.name,
  );
  return ephemeral && !isOwnedBy(claim, pod.metadata.uid ?? "");
}
