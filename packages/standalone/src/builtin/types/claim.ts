import { TypeTable } from "../../schema/dsl.ts";
import { metaTypes } from "../../schema/object-meta.ts";
import { sharedTypes } from "./shared.ts";

/** PersistentVolumeClaim; its spec is also the template of ephemeral volumes. */
export const claimTypes = new TypeTable(
  "io.k8s.api.core.v1",
  `
type PersistentVolumeClaimSpec "The storage that a user asks for."
  accessModes: []string -- How the volume must be mountable.
  selector: LabelSelector -- Labels that the volume must have.
  resources: VolumeResourceRequirements ={} -- Size of the volume.
  volumeName: string -- The volume that the claim is bound to.
  storageClassName: string -- Class to provision from; empty means none, absent means the default class.
  volumeMode: string =Filesystem enum(Block,Filesystem) -- File system or raw device.
  dataSource: TypedLocalObjectReference -- Snapshot or claim that the volume starts as a copy of.
  dataSourceRef: TypedObjectReference -- The same for any kind of source.
  volumeAttributesClassName: string -- Class of attributes that may change during the volume's life.
type PersistentVolumeClaimCondition "One aspect of a claim's state."
  type!: string -- Name of the aspect, such as Resizing.
  status!: string -- True, False or Unknown.
  lastProbeTime: time -- When it was last probed.
  lastTransitionTime: time -- When the status last changed.
  reason: string -- Reason in CamelCase.
  message: string -- Human-readable message.
type ModifyVolumeStatus "How far a change of the attributes class is."
  targetVolumeAttributesClassName: string -- The class that is being applied.
  status!: string -- Pending, InProgress or Infeasible.
type PersistentVolumeClaimStatus "What the claim has got."
  phase: string -- Pending, Bound or Lost.
  accessModes: []string -- Access modes of the volume.
  capacity: {}quantity -- Size of the volume.
  conditions: []PersistentVolumeClaimCondition map(type) merge(type) -- Further aspects, such as resizing.
  allocatedResources: {}quantity -- Size that an expansion is heading for.
  allocatedResourceStatuses: {}string -- How far an expansion is.
  currentVolumeAttributesClassName: string -- Attributes class in force.
  modifyVolumeStatus: ModifyVolumeStatus -- A change of the attributes class under way.
type PersistentVolumeClaim "A request for storage by a user."
  apiVersion: string -- Version of this form of the object.
  kind: string -- Kind of the object.
  metadata: ObjectMeta -- Identity and bookkeeping.
  spec: PersistentVolumeClaimSpec ={} -- What is asked for.
  status: PersistentVolumeClaimStatus ={} -- What there is; read only.
type PersistentVolumeClaimTemplate "The claim that is made for an ephemeral volume."
  metadata: ObjectMeta -- Labels and annotations of the claim.
  spec!: PersistentVolumeClaimSpec -- What is asked for.
`,
  [metaTypes, sharedTypes],
);
