import {
  type CSIDriver,
  CSIDrivers,
  type CSINode,
  CSINodes,
  CSIStorageCapacities,
  type CSIStorageCapacity,
  createInformer,
  defined,
  type Informer,
  type KubeObject,
  type KubeVolumeAttachment,
  KubeVolumeAttachments,
  keyOf,
  type Logger,
  type Node,
  Nodes,
  type ObjectStore,
  openInformers,
  type PersistentVolume,
  type PersistentVolumeClaim,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Pod,
  Pods,
  type Resource,
  type StorageClass,
  StorageClasses,
} from "@mooring/store";
import { jobKeysOf } from "./job-pods.ts";
import { claimKeysOf } from "./pod-claims.ts";
import { BY_CONTROLLER } from "./workloads/owners.ts";

/** Live copies of what binding, scheduling, attaching and the kubelet read; one set serves them all. */
export interface ClusterView {
  /**
   * Indexed by `uid`, by `node`, by `claim` and `job` (namespace/name), as `unplaced` (yes) while they have no node, by
   * `controller` (its uid), and without one as `orphan` (by namespace).
   */
  readonly pods: Informer<Pod>;
  /** Indexed by `namespace`, by `volume` and, while unbound, by `class`. */
  readonly claims: Informer<PersistentVolumeClaim>;
  /** Indexed by `claim` (of its claimRef) and, while free, by `class`. */
  readonly volumes: Informer<PersistentVolume>;
  readonly classes: Informer<StorageClass>;
  readonly nodes: Informer<Node>;
  readonly csiNodes: Informer<CSINode>;
  readonly drivers: Informer<CSIDriver>;
  readonly capacities: Informer<CSIStorageCapacity>;
  /** Indexed by `node` and by `volume`. */
  readonly attachments: Informer<KubeVolumeAttachment>;
  /** Settles when all watches have ended, after the signal. */
  readonly done: Promise<void>;
}

/** Resolves when every copy is complete. `podsOf`: only the pods of this node, as a node may not read others. */
export async function openClusterView(
  store: ObjectStore,
  { logger, signal, podsOf }: { logger: Logger; signal: AbortSignal; podsOf?: string },
): Promise<ClusterView> {
  const informer = <T extends KubeObject>(
    resource: Resource<T>,
    indexers: Record<string, (object: T) => string[]> = {},
    fieldSelector?: string,
  ): Informer<T> => createInformer(store, resource, { indexers, logger, ...defined({ fieldSelector }) });
  const view = {
    pods: informer(
      Pods,
      {
        uid: (pod) => some(pod.metadata.uid),
        node: (pod) => some(pod.spec?.nodeName),
        unplaced: (pod) => (pod.spec?.nodeName ? [] : ["yes"]),
        claim: claimKeysOf,
        job: jobKeysOf,
        ...BY_CONTROLLER,
      },
      podsOf === undefined ? undefined : `spec.nodeName=${podsOf}`,
    ),
    claims: informer(PersistentVolumeClaims, {
      namespace: (claim) => some(claim.metadata.namespace),
      volume: (claim) => some(claim.spec?.volumeName),
      class: (claim) => (claim.spec?.volumeName ? [] : [claim.spec?.storageClassName ?? ""]),
    }),
    volumes: informer(PersistentVolumes, {
      claim: ({ spec }) =>
        spec?.claimRef === undefined
          ? []
          : [
              keyOf({
                metadata: { namespace: spec.claimRef.namespace ?? "", name: spec.claimRef.name ?? "" },
              }),
            ],
      class: ({ spec }) => (spec?.claimRef === undefined ? [spec?.storageClassName ?? ""] : []),
    }),
    classes: informer(StorageClasses),
    nodes: informer(Nodes),
    csiNodes: informer(CSINodes),
    drivers: informer(CSIDrivers),
    capacities: informer(CSIStorageCapacities),
    attachments: informer(KubeVolumeAttachments, {
      node: ({ spec }) => some(spec?.nodeName),
      volume: ({ spec }) => some(spec?.source.persistentVolumeName),
    }),
  };
  return { ...view, ...(await openInformers(Object.values(view), signal)) };
}

function some(value: string | undefined): string[] {
  return value === undefined || value === "" ? [] : [value];
}
