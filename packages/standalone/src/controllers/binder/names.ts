/** Annotations that Kubernetes' volume controller and everyone around it agree on. */
export const BIND_COMPLETED = "pv.kubernetes.io/bind-completed";
export const BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller";
export const PROVISIONED_BY = "pv.kubernetes.io/provisioned-by";
export const STORAGE_PROVISIONER = "volume.kubernetes.io/storage-provisioner";
export const BETA_STORAGE_PROVISIONER = "volume.beta.kubernetes.io/storage-provisioner";
export const SELECTED_NODE = "volume.kubernetes.io/selected-node";
export const IS_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class";
export const BETA_IS_DEFAULT_CLASS = "storageclass.beta.kubernetes.io/is-default-class";
/** Provisioner of classes whose volumes are made by hand. */
export const NO_PROVISIONER = "kubernetes.io/no-provisioner";
