import type * as coordination from "kubernetes-types/coordination/v1.js";
import type * as core from "kubernetes-types/core/v1.js";
import type * as storage from "kubernetes-types/storage/v1.js";
import type { Kube, KubeObject } from "../object/meta.ts";
import { defineResource } from "../object/resource.ts";

export type Namespace = Kube<core.Namespace>;
export type Node = Kube<core.Node>;
export type Pod = Kube<core.Pod>;
export type Secret = Kube<core.Secret>;
export type ConfigMap = Kube<core.ConfigMap>;
export type Event = Kube<core.Event>;
export type ServiceAccount = Kube<core.ServiceAccount>;
export type PersistentVolume = Kube<core.PersistentVolume>;
export type PersistentVolumeClaim = Kube<core.PersistentVolumeClaim>;
export type StorageClass = Kube<storage.StorageClass>;
/** The Kubernetes kind. Ours, with tickets, is `VolumeAttachment` of `@mooring/engine`. */
export type KubeVolumeAttachment = Kube<storage.VolumeAttachment>;
export type CSIDriver = Kube<storage.CSIDriver>;
export type CSINode = Kube<storage.CSINode>;
export type CSIStorageCapacity = Kube<storage.CSIStorageCapacity>;
export type Lease = Kube<coordination.Lease>;

/** storage.k8s.io/v1 since Kubernetes 1.34. */
export interface VolumeAttributesClass extends KubeObject {
  driverName: string;
  parameters?: Record<string, string>;
}

export const Namespaces = defineResource<Namespace>({
  group: "",
  version: "v1",
  kind: "Namespace",
  plural: "namespaces",
  namespaced: false,
});
export const Nodes = defineResource<Node>({
  group: "",
  version: "v1",
  kind: "Node",
  plural: "nodes",
  namespaced: false,
});
export const Pods = defineResource<Pod>({
  group: "",
  version: "v1",
  kind: "Pod",
  plural: "pods",
  namespaced: true,
});
export const Secrets = defineResource<Secret>({
  group: "",
  version: "v1",
  kind: "Secret",
  plural: "secrets",
  namespaced: true,
});
export const ConfigMaps = defineResource<ConfigMap>({
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  namespaced: true,
});
export const Events = defineResource<Event>({
  group: "",
  version: "v1",
  kind: "Event",
  plural: "events",
  namespaced: true,
});
export const ServiceAccounts = defineResource<ServiceAccount>({
  group: "",
  version: "v1",
  kind: "ServiceAccount",
  plural: "serviceaccounts",
  namespaced: true,
});
export const PersistentVolumes = defineResource<PersistentVolume>({
  group: "",
  version: "v1",
  kind: "PersistentVolume",
  plural: "persistentvolumes",
  namespaced: false,
});
export const PersistentVolumeClaims = defineResource<PersistentVolumeClaim>({
  group: "",
  version: "v1",
  kind: "PersistentVolumeClaim",
  plural: "persistentvolumeclaims",
  namespaced: true,
});
const STORAGE = "storage.k8s.io";
export const StorageClasses = defineResource<StorageClass>({
  group: STORAGE,
  version: "v1",
  kind: "StorageClass",
  plural: "storageclasses",
  namespaced: false,
});
export const KubeVolumeAttachments = defineResource<KubeVolumeAttachment>({
  group: STORAGE,
  version: "v1",
  kind: "VolumeAttachment",
  plural: "volumeattachments",
  namespaced: false,
});
export const CSIDrivers = defineResource<CSIDriver>({
  group: STORAGE,
  version: "v1",
  kind: "CSIDriver",
  plural: "csidrivers",
  namespaced: false,
});
export const CSINodes = defineResource<CSINode>({
  group: STORAGE,
  version: "v1",
  kind: "CSINode",
  plural: "csinodes",
  namespaced: false,
});
export const CSIStorageCapacities = defineResource<CSIStorageCapacity>({
  group: STORAGE,
  version: "v1",
  kind: "CSIStorageCapacity",
  plural: "csistoragecapacities",
  namespaced: true,
});
export const VolumeAttributesClasses = defineResource<VolumeAttributesClass>({
  group: STORAGE,
  version: "v1",
  kind: "VolumeAttributesClass",
  plural: "volumeattributesclasses",
  namespaced: false,
});
export const Leases = defineResource<Lease>({
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  namespaced: true,
});
