/** Annotations that Kubernetes' volume controller and everyone around it agree on. */
export const BIND_COMPLETED = "pv.kubernetes.io/bind-completed";
/** On a claim or volume: the binder has chosen the other, not its user. */
export const BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller";
/** On a volume: the driver that made it. */
export const PROVISIONED_BY = "pv.kubernetes.io/provisioned-by";
/** On a claim: the driver that is to make a volume for it. */
export const STORAGE_PROVISIONER = "volume.kubernetes.io/storage-provisioner";
/** The same, under the name of clusters before 1.23. */
export const BETA_STORAGE_PROVISIONER = "volume.beta.kubernetes.io/storage-provisioner";
/** On a claim: the node that the scheduler has chosen for its pod. */
export const SELECTED_NODE = "volume.kubernetes.io/selected-node";
/** Provisioner of classes whose volumes are made by hand. */
export const NO_PROVISIONER = "kubernetes.io/no-provisioner";
