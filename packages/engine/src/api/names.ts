/** API group and names that scripts and other parts rely on. */
export const MOORING_GROUP = "storage.mooring.dev";
/** The version of our kinds that is stored and served. */
export const MOORING_VERSION = "v1alpha1";
/** `apiVersion` of our kinds. */
export const MOORING_API_VERSION = `${MOORING_GROUP}/${MOORING_VERSION}`;
/** The name of our CSI driver; volumes of others are not ours. */
export const DRIVER_NAME = "csi.mooring.dev";
/** Key of the node's segment in CSI topologies and node labels. */
export const TOPOLOGY_NODE_KEY = "topology.storage.mooring.dev/node";
/** Where the leases of images are. */
export const LEASE_NAMESPACE = "kube-system";
/** Label of an image's lease: the image. */
export const LEASE_IMAGE_LABEL = `${MOORING_GROUP}/image`;
/** Label of an image's lease: the NodeAgent whose agent holds it. */
export const LEASE_NODE_LABEL = `${MOORING_GROUP}/node`;
/** The finalizer on every object of ours whose data must go before the object does. */
export const ENGINE_FINALIZER = `${MOORING_GROUP}/engine`;
/** On a VolumeAttachment as long as there is a ticket: without it a stray delete would detach workloads. */
export const ARBITER_FINALIZER = `${MOORING_GROUP}/arbiter`;
/**
 * On the NodeAgent of a lost node: what runs there is to run elsewhere, so that the node is shut out of all that it has. Whoever
 * evicts its pods puts it there, and takes it off when the node is back.
 */
export const EVICTED_ANNOTATION = `${MOORING_GROUP}/evicted`;
/** Condition of a pod: False while one of its volumes is not mounted any more where the kubelet has published it. */
export const VOLUMES_MOUNTED = `${MOORING_GROUP}/VolumesMounted`;
/** Name of the volume, on its VolumeAttachment. */
export const VOLUME_LABEL = `${MOORING_GROUP}/volume`;
/** On a VolumeAttachment made for a volume that was attached already: its users have to be found first. */
export const IMPORT_ANNOTATION = `${MOORING_GROUP}/import`;
/** Label of every snapshot that a job made: the job's UID, since names are used again. */
export const JOB_UID_LABEL = "storage.mooring.dev/recurring-job-uid";
