import type * as coordination from "kubernetes-types/coordination/v1.js";
import type * as core from "kubernetes-types/core/v1.js";
import type * as storage from "kubernetes-types/storage/v1.js";
import type { Kube, KubeObject } from "../object/meta.ts";
import { defineResource } from "../object/resource.ts";

/** `Namespace` of v1. */
export type Namespace = Kube<core.Namespace>;
/** `Node` of v1. */
export type Node = Kube<core.Node>;
/** `Pod` of v1. */
export type Pod = Kube<core.Pod>;
/** `Secret` of v1. */
export type Secret = Kube<core.Secret>;
/** `ConfigMap` of v1. */
export type ConfigMap = Kube<core.ConfigMap>;
/** `Event` of v1. */
export type Event = Kube<core.Event>;
/** `ServiceAccount` of v1. */
export type ServiceAccount = Kube<core.ServiceAccount>;
/** `PersistentVolume` of v1. */
export type PersistentVolume = Kube<core.PersistentVolume>;
/** `PersistentVolumeClaim` of v1. */
export type PersistentVolumeClaim = Kube<core.PersistentVolumeClaim>;
/** `StorageClass` of storage.k8s.io/v1. */
export type StorageClass = Kube<storage.StorageClass>;
/** The Kubernetes kind. Ours, with tickets, is `VolumeAttachment` of `@mooring/engine`. */
export type KubeVolumeAttachment = Kube<storage.VolumeAttachment>;
/** `CSIDriver` of storage.k8s.io/v1. */
export type CSIDriver = Omit<Kube<storage.CSIDriver>, "spec"> & { spec: CSIDriverSpec };
/** With the fields of Kubernetes 1.35. */
export interface CSIDriverSpec extends storage.CSIDriverSpec {
  /** Seconds between two calls of the kubelet for a node's limits (NodeGetInfo); at least 10. */
  nodeAllocatableUpdatePeriodSeconds?: number;
  /** Tokens of pods' accounts are sent among the secrets, and not in the volume context. */
  serviceAccountTokenInSecrets?: boolean;
}
/** `CSINode` of storage.k8s.io/v1. */
export type CSINode = Kube<storage.CSINode>;
/** `CSIStorageCapacity` of storage.k8s.io/v1. */
export type CSIStorageCapacity = Kube<storage.CSIStorageCapacity>;
/** `Lease` of coordination.k8s.io/v1. */
export type Lease = Kube<coordination.Lease>;

/** storage.k8s.io/v1 since Kubernetes 1.34. */
export interface VolumeAttributesClass extends KubeObject {
  driverName: string;
  parameters?: Record<string, string>;
}

/** Served at `/api/v1/namespaces`. */
export const Namespaces = defineResource<Namespace>({
  group: "",
  version: "v1",
  kind: "Namespace",
  plural: "namespaces",
  namespaced: false,
});
/** Served at `/api/v1/nodes`. */
export const Nodes = defineResource<Node>({
  group: "",
  version: "v1",
  kind: "Node",
  plural: "nodes",
  namespaced: false,
});
/** Served at `/api/v1/namespaces/NAMESPACE/pods`. */
export const Pods = defineResource<Pod>({
  group: "",
  version: "v1",
  kind: "Pod",
  plural: "pods",
  namespaced: true,
});
/** Served at `/api/v1/namespaces/NAMESPACE/secrets`. */
export const Secrets = defineResource<Secret>({
  group: "",
  version: "v1",
  kind: "Secret",
  plural: "secrets",
  namespaced: true,
});
/** Served at `/api/v1/namespaces/NAMESPACE/configmaps`. */
export const ConfigMaps = defineResource<ConfigMap>({
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  namespaced: true,
});
/** Served at `/api/v1/namespaces/NAMESPACE/events`. */
export const Events = defineResource<Event>({
  group: "",
  version: "v1",
  kind: "Event",
  plural: "events",
  namespaced: true,
});
/** Served at `/api/v1/namespaces/NAMESPACE/serviceaccounts`. */
export const ServiceAccounts = defineResource<ServiceAccount>({
  group: "",
  version: "v1",
  kind: "ServiceAccount",
  plural: "serviceaccounts",
  namespaced: true,
});
/** Served at `/api/v1/persistentvolumes`. */
export const PersistentVolumes = defineResource<PersistentVolume>({
  group: "",
  version: "v1",
  kind: "PersistentVolume",
  plural: "persistentvolumes",
  namespaced: false,
});
/** Served at `/api/v1/namespaces/NAMESPACE/persistentvolumeclaims`. */
export const PersistentVolumeClaims = defineResource<PersistentVolumeClaim>({
  group: "",
  version: "v1",
  kind: "PersistentVolumeClaim",
  plural: "persistentvolumeclaims",
  namespaced: true,
});
const STORAGE = "storage.k8s.io";
/** Served at `/apis/storage.k8s.io/v1/storageclasses`. */
export const StorageClasses = defineResource<StorageClass>({
  group: STORAGE,
  version: "v1",
  kind: "StorageClass",
  plural: "storageclasses",
  namespaced: false,
});
/** Served at `/apis/storage.k8s.io/v1/volumeattachments`. */
export const KubeVolumeAttachments = defineResource<KubeVolumeAttachment>({
  group: STORAGE,
  version: "v1",
  kind: "VolumeAttachment",
  plural: "volumeattachments",
  namespaced: false,
});
/** Served at `/apis/storage.k8s.io/v1/csidrivers`. */
export const CSIDrivers = defineResource<CSIDriver>({
  group: STORAGE,
  version: "v1",
  kind: "CSIDriver",
  plural: "csidrivers",
  namespaced: false,
});
/** Served at `/apis/storage.k8s.io/v1/csinodes`. */
export const CSINodes = defineResource<CSINode>({
  group: STORAGE,
  version: "v1",
  kind: "CSINode",
  plural: "csinodes",
  namespaced: false,
});
/** Served at `/apis/storage.k8s.io/v1/namespaces/NAMESPACE/csistoragecapacities`. */
export const CSIStorageCapacities = defineResource<CSIStorageCapacity>({
  group: STORAGE,
  version: "v1",
  kind: "CSIStorageCapacity",
  plural: "csistoragecapacities",
  namespaced: true,
});
/** Served at `/apis/storage.k8s.io/v1/volumeattributesclasses`. */
export const VolumeAttributesClasses = defineResource<VolumeAttributesClass>({
  group: STORAGE,
  version: "v1",
  kind: "VolumeAttributesClass",
  plural: "volumeattributesclasses",
  namespaced: false,
});
/** Served at `/apis/coordination.k8s.io/v1/namespaces/NAMESPACE/leases`. */
export const Leases = defineResource<Lease>({
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  namespaced: true,
});
