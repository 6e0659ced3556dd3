import {
  DONE,
  defined,
  failpoint,
  isAlreadyExists,
  isOwnedBy,
  keyOf,
  type Logger,
  type ObjectStore,
  ownerReferenceTo,
  type PersistentVolumeClaim,
  PersistentVolumeClaims,
  type Pod,
  Reconciler,
  source,
  WrittenCache,
} from "@mooring/store";
import type { ClusterView } from "../cluster-view.ts";
import { claimNameOf, isFinished } from "../pod-claims.ts";

const afterCreate = failpoint("standalone/binder/ephemeral-claim-created");

interface EphemeralOptions {
  store: ObjectStore;
  view: Pick<ClusterView, "claims" | "pods">;
  logger: Logger;
}

/** The claims that a pod brings along (generic ephemeral volumes) and that do not exist yet. They go with the pod. */
function missingClaims(pod: Pod, exists: (key: string) => boolean): PersistentVolumeClaim[] {
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

type EphemeralStep = { do: "create-claim"; claim: PersistentVolumeClaim } | { do: "done" };

/** Makes the claims that pods bring along. */
export function ephemeralVolumes({
  store,
  view,
  logger,
}: EphemeralOptions): Reconciler<PersistentVolumeClaim[], EphemeralStep> {
  const claims = new WrittenCache(store, view.claims);
  return new Reconciler<PersistentVolumeClaim[], EphemeralStep>({
    ...{ name: "ephemeral-volumes", store, logger },
    sources: [source(view.pods, (pod) => [keyOf(pod)])],
    watched: [view.claims],
    async read(key, { reader, fresh }) {
      const pod = reader.over(view.pods).get(key);
      if (pod === undefined) return undefined;
      if (fresh)
        for (const { metadata } of missingClaims(pod, () => false)) await claims.refresh(keyOf({ metadata }));
      return missingClaims(pod, (name) => reader.over(claims).get(name) !== undefined);
    },
    decide: ([claim]) => (claim === undefined ? DONE : { do: "create-claim", claim }),
    async apply({ claim }) {
      claims.wrote(await store.create(PersistentVolumeClaims, claim));
      afterCreate();
    },
    isOutdated: isAlreadyExists,
  });
}

/** A claim of the right name that somebody else made is not the pod's: its data would be used, and deleted with it. */
export function isForeign(claim: PersistentVolumeClaim, pod: Pod): boolean {
  const ephemeral = (pod.spec?.volumes ?? []).some(
    (volume) => volume.ephemeral !== undefined && claimNameOf(pod, volume) === claim.metadata.name,
  );
  return ephemeral && !isOwnedBy(claim, pod.metadata.uid ?? "");
}
