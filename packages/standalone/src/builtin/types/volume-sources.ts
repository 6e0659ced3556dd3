import { TypeTable } from "../../schema/dsl.ts";
import { claimTypes } from "./claim.ts";
import { containerTypes } from "./container.ts";
import { sharedTypes } from "./shared.ts";

/** What a pod's volume can be. Sources that nothing here can mount are accepted and kept as they are. */
export const volumeTypes = new TypeTable(
  "io.k8s.api.core.v1",
  `
type KeyToPath "A key as a file."
  key!: string -- The key.
  path!: string -- Path of the file in the volume.
  mode: int32 -- Permission bits of the file.
type HostPathVolumeSource "A path of the node."
  path!: string -- The path.
  type: string ="" -- What must be there, such as Directory; empty means anything.
type EmptyDirVolumeSource "An empty folder that lives as long as the pod."
  medium: string -- Memory for a RAM disk.
  sizeLimit: quantity -- Most that it may contain.
type SecretVolumeSource "A Secret's keys as files."
  secretName: string -- Name of the Secret.
  items: []KeyToPath -- Which keys, and where; absent means all.
  defaultMode: int32 =420 min(0) max(511) -- Permission bits of files.
  optional: bool -- The pod may start without it.
type ConfigMapVolumeSource "A ConfigMap's keys as files."
  name: string -- Name of the ConfigMap.
  items: []KeyToPath -- Which keys, and where; absent means all.
  defaultMode: int32 =420 min(0) max(511) -- Permission bits of files.
  optional: bool -- The pod may start without it.
type DownwardAPIVolumeFile "A file with a field of the pod."
  path!: string -- Path of the file in the volume.
  fieldRef: ObjectFieldSelector -- Field of the pod.
  resourceFieldRef: ResourceFieldSelector -- Resource of a container.
  mode: int32 -- Permission bits of the file.
type DownwardAPIVolumeSource "Fields of the pod as files."
  items: []DownwardAPIVolumeFile -- The files.
  defaultMode: int32 =420 min(0) max(511) -- Permission bits of files.
type ServiceAccountTokenProjection "A token of the pod's service account."
  audience: string -- Whom the token is for.
  expirationSeconds: int64 =3600 -- How long it lives.
  path!: string -- Path of the file in the volume.
type SecretProjection "A Secret in a projected volume."
  name: string -- Name of the Secret.
  items: []KeyToPath -- Which keys, and where.
  optional: bool -- The pod may start without it.
type ConfigMapProjection "A ConfigMap in a projected volume."
  name: string -- Name of the ConfigMap.
  items: []KeyToPath -- Which keys, and where.
  optional: bool -- The pod may start without it.
type DownwardAPIProjection "Fields of the pod in a projected volume."
  items: []DownwardAPIVolumeFile -- The files.
type ClusterTrustBundleProjection "Trust anchors in a projected volume."
  name: string -- Name of the bundle.
  signerName: string -- Or all bundles of this signer.
  labelSelector: LabelSelector -- With these labels.
  optional: bool -- The pod may start without it.
  path!: string -- Path of the file in the volume.
type VolumeProjection "One source of a projected volume."
  secret: SecretProjection -- A Secret.
  downwardAPI: DownwardAPIProjection -- Fields of the pod.
  configMap: ConfigMapProjection -- A ConfigMap.
  serviceAccountToken: ServiceAccountTokenProjection -- A token.
  clusterTrustBundle: ClusterTrustBundleProjection -- Trust anchors.
  podCertificate: object -- A certificate made for the pod.
type ProjectedVolumeSource "Several sources in one folder."
  sources: []VolumeProjection -- The sources.
  defaultMode: int32 =420 min(0) max(511) -- Permission bits of files.
type PersistentVolumeClaimVolumeSource "A claim of the same namespace."
  claimName!: string -- Name of the claim.
  readOnly: bool -- Mount it read-only everywhere.
type CSIVolumeSource "A volume that a CSI driver makes for this pod alone."
  driver!: string -- Name of the driver.
  readOnly: bool -- Mount it read-only.
  fsType: string -- File system to make.
  volumeAttributes: {}string -- Given to the driver.
  nodePublishSecretRef: LocalObjectReference -- Secret given to the driver.
type EphemeralVolumeSource "A claim that is made for this pod and dies with it."
  volumeClaimTemplate: PersistentVolumeClaimTemplate -- The claim.
type NFSVolumeSource "An NFS export."
  server!: string -- Host.
  path!: string -- Path of the export.
  readOnly: bool -- Mount it read-only.
type ISCSIVolumeSource open "An iSCSI disk."
type ImageVolumeSource "Files of an image."
  reference: string -- The image.
  pullPolicy: string -- When it is pulled.
type Volume "A volume that containers of the pod can mount."
  name!: string -- Name, a DNS label, unique in the pod.
  hostPath: HostPathVolumeSource -- A path of the node.
  emptyDir: EmptyDirVolumeSource -- An empty folder.
  secret: SecretVolumeSource -- A Secret's keys as files.
  nfs: NFSVolumeSource -- An NFS export.
  iscsi: ISCSIVolumeSource -- An iSCSI disk.
  persistentVolumeClaim: PersistentVolumeClaimVolumeSource -- A claim.
  downwardAPI: DownwardAPIVolumeSource -- Fields of the pod as files.
  configMap: ConfigMapVolumeSource -- A ConfigMap's keys as files.
  projected: ProjectedVolumeSource -- Several sources in one folder.
  csi: CSIVolumeSource -- A volume made by a CSI driver for this pod.
  ephemeral: EphemeralVolumeSource -- A claim made for this pod.
  image: ImageVolumeSource -- Files of an image.
  gcePersistentDisk: object -- Retired; use a CSI driver.
  awsElasticBlockStore: object -- Retired; use a CSI driver.
  gitRepo: object -- Retired.
  glusterfs: object -- Retired; use a CSI driver.
  rbd: object -- Retired; use a CSI driver.
  flexVolume: object -- Retired; use a CSI driver.
  cinder: object -- Retired; use a CSI driver.
  cephfs: object -- Retired; use a CSI driver.
  flocker: object -- Retired.
  fc: object -- A Fibre Channel disk.
  azureFile: object -- Retired; use a CSI driver.
  vsphereVolume: object -- Retired; use a CSI driver.
  quobyte: object -- Retired.
  azureDisk: object -- Retired; use a CSI driver.
  photonPersistentDisk: object -- Retired.
  portworxVolume: object -- Retired; use a CSI driver.
  scaleIO: object -- Retired.
  storageos: object -- Retired.
`,
  [sharedTypes, containerTypes, claimTypes],
);
