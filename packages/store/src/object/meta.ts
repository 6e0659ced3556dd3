/** Object metadata as every Kubernetes API server keeps it (`k8s.io/apimachinery`, meta/v1). */
export interface ObjectMeta {
  name: string;
  namespace?: string;
  generateName?: string;
  uid?: string;
  /** Opaque to clients; in `LocalStore` the store-wide revision of the last change, as a decimal string. */
  resourceVersion?: string;
  /** Grows by one with every change of the desired state (everything but metadata and status). */
  generation?: number;
  /** RFC 3339, whole seconds, UTC. */
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
  managedFields?: ManagedFieldsEntry[];
}

/** An object that this one belongs to: the garbage collector deletes it when all its owners are gone. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** Who set which fields: the record that server-side apply decides conflicts from. */
export interface ManagedFieldsEntry {
  manager: string;
  operation: "Apply" | "Update";
  apiVersion: string;
  time?: string;
  fieldsType: "FieldsV1";
  fieldsV1: Record<string, unknown>;
  subresource?: string;
}

/** Any object: what all kinds have in common. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
}

/** An object whose other fields are not known at compile time (custom resources, tools). */
export interface UnstructuredObject extends KubeObject {
  [field: string]: unknown;
}

/**
 * A kind from a schema package as the store hands it out: `apiVersion`, `kind` and `metadata` are always there.
 * Use it as `Kube<core.Pod>`.
 */
export type Kube<T> = Omit<T, "apiVersion" | "kind" | "metadata"> & KubeObject;

/** A condition as meta/v1 defines it. Ours always carry reason and message. */
export interface Condition {
  type: string;
  status: "True" | "False" | "Unknown";
  reason: string;
  message: string;
  lastTransitionTime: string;
  observedGeneration?: number;
}
