/**
 * The manager as whom the controllers write, in `metadata.managedFields`: as on a cluster, and nobody else's name. What a field
 * says under it no user has set.
 */
export const CONTROLLER_MANAGER = "kube-controller-manager";
