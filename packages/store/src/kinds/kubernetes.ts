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

export const Namespaces = defineResource<Namespace>("", "v1", "Namespace", "namespaces", false);
export const Nodes = defineResource<Node>("", "v1", "Node", "nodes", false);
export const Pods = defineResource<Pod>("", "v1", "Pod", "pods", true);
export const Secrets = defineResource<Secret>("", "v1", "Secret", "secrets", true);
export const ConfigMaps = defineResource<ConfigMap>("", "v1", "ConfigMap", "configmaps", true);
export const Events = defineResource<Event>("", "v1", "Event", "events", true);
export const ServiceAccounts = defineResource<ServiceAccount>(
  "",
  "v1",
  "ServiceAccount",
  "serviceaccounts",
  true,
);
export const PersistentVolumes = defineResource<PersistentVolume>(
  "",
  "v1",
  "PersistentVolume",
  "persistentvolumes",
  false,
);
export const PersistentVolumeClaims = defineResource<PersistentVolumeClaim>(
  "",
  "v1",
  "PersistentVolumeClaim",
  "persistentvolumeclaims",
  true,
);
const STORAGE = "storage.k8s.io";
export const StorageClasses = defineResource<StorageClass>(
  STORAGE,
  "v1",
  "StorageClass",
  "storageclasses",
  false,
);
export const KubeVolumeAttachments = defineResource<KubeVolumeAttachment>(
  STORAGE,
  "v1",
  "VolumeAttachment",
  "volumeattachments",
  false,
);
export const CSIDrivers = defineResource<CSIDriver>(STORAGE, "v1", "CSIDriver", "csidrivers", false);
export const CSINodes = defineResource<CSINode>(STORAGE, "v1", "CSINode", "csinodes", false);
export const CSIStorageCapacities = defineResource<CSIStorageCapacity>(
  STORAGE,
  "v1",
  "CSIStorageCapacity",
  "csistoragecapacities",
  true,
);
export const VolumeAttributesClasses = defineResource<VolumeAttributesClass>(
  STORAGE,
  "v1",
  "VolumeAttributesClass",
  "volumeattributesclasses",
  false,
);
export const Leases = defineResource<Lease>("coordination.k8s.io", "v1", "Lease", "leases", true);
