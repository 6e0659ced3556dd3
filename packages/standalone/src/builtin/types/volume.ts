import { TypeTable } from "../../schema/dsl.ts";
import { metaTypes } from "../../schema/object-meta.ts";
import { sharedTypes } from "./shared.ts";

/** The schema of PersistentVolumes. */
export const volumeKindTypes = new TypeTable(
  "io.k8s.api.core.v1",
  `
type CSIPersistentVolumeSource "A volume of a CSI driver."
  driver!: string -- Name of the driver.
  volumeHandle!: string -- The driver's id of the volume.
  readOnly: bool -- Attach it read-only.
  fsType: string -- File system to make.
  volumeAttributes: {}string -- Given to the driver with every call.
  controllerPublishSecretRef: SecretReference -- Secret for attaching.
  nodeStageSecretRef: SecretReference -- Secret for staging.
  nodePublishSecretRef: SecretReference -- Secret for publishing.
  controllerExpandSecretRef: SecretReference -- Secret for growing.
  nodeExpandSecretRef: SecretReference -- Secret for growing on the node.
type HostPathVolumeSource "A path of the node."
  path!: string -- The path.
  type: string ="" -- What must be there, such as Directory; empty means anything.
type LocalVolumeSource "A disk or folder of one node."
  path!: string -- The path.
  fsType: string -- File system to make on a disk.
type NFSVolumeSource "An NFS export."
  server!: string -- Host.
  path!: string -- Path of the export.
  readOnly: bool -- Mount it read-only.
type VolumeNodeAffinity "Nodes from which a volume can be reached."
  required: NodeSelector -- What the node must have.
type PersistentVolumeSpec "What a volume is."
  capacity: {}quantity -- Size of the volume.
  csi: CSIPersistentVolumeSource -- A volume of a CSI driver.
  hostPath: HostPathVolumeSource -- A path of the node.
  local: LocalVolumeSource -- A disk or folder of one node.
  nfs: NFSVolumeSource -- An NFS export.
  iscsi: object -- An iSCSI disk.
  fc: object -- A Fibre Channel disk.
  gcePersistentDisk: object -- Retired; use a CSI driver.
  awsElasticBlockStore: object -- Retired; use a CSI driver.
  glusterfs: object -- Retired; use a CSI driver.
  rbd: object -- Retired; use a CSI driver.
  cinder: object -- Retired; use a CSI driver.
  cephfs: object -- Retired; use a CSI driver.
  flocker: object -- Retired.
  flexVolume: object -- Retired; use a CSI driver.
  azureFile: object -- Retired; use a CSI driver.
  vsphereVolume: object -- Retired; use a CSI driver.
  quobyte: object -- Retired.
  azureDisk: object -- Retired; use a CSI driver.
  photonPersistentDisk: object -- Retired.
  portworxVolume: object -- Retired; use a CSI driver.
  scaleIO: object -- Retired.
  storageos: object -- Retired.
  accessModes: []string -- How it can be mounted.
  claimRef: ObjectReference -- The claim that it is bound to.
  persistentVolumeReclaimPolicy: string =Retain enum(Delete,Recycle,Retain) -- What happens when the claim is gone.
  storageClassName: string -- Class it belongs to.
  mountOptions: []string -- Options of the mount.
  volumeMode: string =Filesystem enum(Block,Filesystem) -- File system or raw device.
  nodeAffinity: VolumeNodeAffinity -- Nodes from which it can be reached.
  volumeAttributesClassName: string -- Attributes class in force.
type PersistentVolumeStatus "How a volume is."
  phase: string enum(Available,Bound,Failed,Pending,Released) -- Where in its life it is.
  message: string -- Human-readable message.
  reason: string -- Reason in CamelCase.
  lastPhaseTransitionTime: time -- When the phase last changed.
type PersistentVolume "Storage that claims can be bound to."
  apiVersion: string -- Version of this form of the object.
  kind: string -- Kind of the object.
  metadata: ObjectMeta -- Identity and bookkeeping.
  spec: PersistentVolumeSpec ={} -- What it is.
  status: PersistentVolumeStatus ={} -- How it is; read only.
`,
  [metaTypes, sharedTypes],
);
// A claim reference is written field by field by several controllers.
const claimRef = volumeKindTypes.get("PersistentVolumeSpec").properties?.claimRef;
if (claimRef !== undefined) claimRef["x-kubernetes-map-type"] = "granular";
