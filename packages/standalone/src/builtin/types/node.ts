import { TypeTable } from "../../schema/dsl.ts";
import { metaTypes } from "../../schema/object-meta.ts";
import { sharedTypes } from "./shared.ts";

/** The schema of Nodes. */
export const nodeTypes = new TypeTable(
  "io.k8s.api.core.v1",
  `
type NodeSpec "What is wanted of a node."
  podCIDR: string -- Addresses of its pods.
  podCIDRs: []string set merge -- The same for every family.
  providerID: string -- Id at the cloud provider.
  unschedulable: bool -- Keeps new pods off.
  taints: []Taint -- Keep pods off that do not tolerate them.
  configSource: object -- Retired.
  externalID: string -- Retired.
type NodeCondition "One aspect of a node's state."
  type!: string -- Name of the aspect, such as Ready.
  status!: string -- True, False or Unknown.
  lastHeartbeatTime: time -- When it was last confirmed.
  lastTransitionTime: time -- When the status last changed.
  reason: string -- Reason in CamelCase.
  message: string -- Human-readable message.
type NodeAddress "An address of a node."
  type!: string -- Hostname, InternalIP, ...
  address!: string -- The address.
type DaemonEndpoint "A port of a daemon."
  Port!: int32 -- The port.
type NodeDaemonEndpoints "Ports of the node's daemons."
  kubeletEndpoint: DaemonEndpoint -- The kubelet's.
type NodeSystemInfo "What a node is made of."
  machineID!: string -- Id of the machine.
  systemUUID!: string -- Id of the hardware.
  bootID!: string -- Id of this boot.
  kernelVersion!: string -- Kernel.
  osImage!: string -- Operating system.
  containerRuntimeVersion!: string -- What runs containers.
  kubeletVersion!: string -- What runs pods.
  kubeProxyVersion: string -- Retired.
  operatingSystem!: string -- Such as linux.
  architecture!: string -- Such as amd64.
  swap: object -- Swap.
type ContainerImage "An image on a node."
  names: []string -- Names of the image.
  sizeBytes: int64 -- Its size.
type AttachedVolume "A volume that is attached to a node."
  name!: string -- The volume.
  devicePath!: string -- Its device.
type NodeStatus "How a node is."
  capacity: {}quantity -- What it has.
  allocatable: {}quantity -- What pods may use.
  phase: string -- Retired.
  conditions: []NodeCondition map(type) merge(type) -- Further aspects.
  addresses: []NodeAddress map(type) merge(type) -- Its addresses.
  daemonEndpoints: NodeDaemonEndpoints -- Ports of its daemons.
  nodeInfo: NodeSystemInfo -- What it is made of.
  images: []ContainerImage -- Images on it.
  volumesInUse: []string -- Volumes that pods use or are about to.
  volumesAttached: []AttachedVolume -- Volumes that are attached.
  config: object -- Retired.
  runtimeHandlers: []any -- Ways to run containers.
  features: object -- Abilities.
  declaredFeatures: []string -- Abilities by name.
type Node "A machine that runs pods."
  apiVersion: string -- Version of this form of the object.
  kind: string -- Kind of the object.
  metadata: ObjectMeta -- Identity and bookkeeping.
  spec: NodeSpec ={} -- What is wanted of it.
  status: NodeStatus ={} -- How it is; read only.
`,
  [metaTypes, sharedTypes],
);
