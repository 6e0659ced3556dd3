import { TypeTable } from "../../schema/dsl.ts";
import { metaTypes } from "../../schema/object-meta.ts";
import { sharedTypes } from "./shared.ts";
import { volumeKindTypes } from "./volume.ts";

const HEAD = `
  apiVersion: string -- Version of this form of the object.
  kind: string -- Kind of the object.
  metadata: ObjectMeta -- Identity and bookkeeping.`;

/** The schema of storage.k8s.io. */
export const storageTypes = new TypeTable(
  "io.k8s.api.storage.v1",
  `
type StorageClass "A way to provision volumes."${HEAD}
  provisioner!: string -- Who makes the volumes.
  parameters: {}string -- Given to the provisioner.
  reclaimPolicy: string =Delete enum(Delete,Retain) -- What happens to a volume when its claim is gone.
  mountOptions: []string -- Options of the mount.
  allowVolumeExpansion: bool -- Whether claims may grow.
  volumeBindingMode: string =Immediate enum(Immediate,WaitForFirstConsumer) -- When a volume is made.
  allowedTopologies: []TopologySelectorTerm -- Where volumes may be made.
type VolumeAttachmentSource "What is to be attached."
  persistentVolumeName: string -- Name of the volume.
  inlineVolumeSpec: PersistentVolumeSpec -- Or a volume without an object.
type VolumeAttachmentSpec "An order to attach a volume to a node."
  attacher!: string -- Name of the driver that attaches.
  source!: VolumeAttachmentSource -- What is to be attached.
  nodeName: string -- The node.
type VolumeError "What went wrong."
  time: time -- When.
  message: string -- For human readers; never contains secrets.
  errorCode: int32 -- gRPC code.
type VolumeAttachmentStatus "How far attaching is."
  attached!: bool -- Whether the volume is attached.
  attachmentMetadata: {}string -- What the driver wants to have back later.
  attachError: VolumeError -- Last failure to attach.
  detachError: VolumeError -- Last failure to detach.
type VolumeAttachment "A volume that is, or is to be, attached to a node."${HEAD}
  spec: VolumeAttachmentSpec ={} -- The order.
  status: VolumeAttachmentStatus -- How far it is; read only.
type TokenRequest "A token for a driver."
  audience!: string -- Whom it is for.
  expirationSeconds: int64 -- How long it lives.
type CSIDriverSpec "What the orchestrator has to know of a driver."
  attachRequired: bool =true -- Volumes must be attached before use.
  podInfoOnMount: bool =false -- Send the driver information about pods.
  volumeLifecycleModes: []string set -- Persistent, Ephemeral or both.
  storageCapacity: bool =false -- Check capacity before scheduling.
  fsGroupPolicy: string =ReadWriteOnceWithFSType -- When ownership of volumes is changed.
  tokenRequests: []TokenRequest -- Tokens the driver needs.
  requiresRepublish: bool =false -- Publish again periodically.
  seLinuxMount: bool =false -- Volumes may be mounted with a label.
  nodeAllocatableUpdatePeriodSeconds: int64 min(10) -- How often limits are asked for again.
  serviceAccountTokenInSecrets: bool -- Tokens are given as secrets.
type CSIDriver "A CSI driver."${HEAD}
  spec: CSIDriverSpec ={} -- What has to be known of it.
type VolumeNodeResources "Limits of a driver on a node."
  count: int32 -- Most volumes at a time.
type CSINodeDriver "A driver on a node."
  name!: string -- Name of the driver.
  nodeID!: string -- The driver's id of the node.
  topologyKeys: []string -- Node labels that say what the driver can reach.
  allocatable: VolumeNodeResources -- Limits.
type CSINodeSpec "The drivers on a node."
  drivers: []CSINodeDriver =[] map(name) merge(name) -- The drivers.
type CSINode "The drivers on the node of the same name."${HEAD}
  spec: CSINodeSpec ={} -- The drivers.
type CSIStorageCapacity "Room that a class has in one part of the cluster."${HEAD}
  nodeTopology: LabelSelector -- The part of the cluster; absent means nowhere, empty everywhere.
  storageClassName: string -- The class.
  capacity: quantity -- Room, in bytes.
  maximumVolumeSize: quantity -- Largest single volume, in bytes.
type VolumeAttributesClass "Attributes of volumes that may change during their life."${HEAD}
  driverName!: string -- Driver that the parameters are for.
  parameters: {}string -- Given to the driver.
`,
  [metaTypes, sharedTypes, volumeKindTypes],
);
