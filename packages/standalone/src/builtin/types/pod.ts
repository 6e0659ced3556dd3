import { TypeTable } from "../../schema/dsl.ts";
import { metaTypes } from "../../schema/object-meta.ts";
import { containerTypes } from "./container.ts";
import { sharedTypes } from "./shared.ts";
import { volumeTypes } from "./volume-sources.ts";

/** The schema of Pods. */
export const podTypes = new TypeTable(
  "io.k8s.api.core.v1",
  `
type PreferredSchedulingTerm "A wish about the node."
  weight!: int32 -- How much it counts, 1 to 100.
  preference!: NodeSelectorTerm -- The wish.
type NodeAffinity "Which nodes a pod goes to."
  requiredDuringSchedulingIgnoredDuringExecution: NodeSelector -- What the node must have.
  preferredDuringSchedulingIgnoredDuringExecution: []PreferredSchedulingTerm -- What it had better have.
type PodAffinityTerm "Pods to be near to or far from."
  labelSelector: LabelSelector -- The pods.
  namespaces: []string -- Their namespaces.
  topologyKey!: string -- Node label that defines what near is.
  namespaceSelector: LabelSelector -- Their namespaces, by label.
  matchLabelKeys: []string -- Labels whose values this pod's own must equal.
  mismatchLabelKeys: []string -- Labels whose values this pod's own must not equal.
type WeightedPodAffinityTerm "A wish about neighbours."
  weight!: int32 -- How much it counts, 1 to 100.
  podAffinityTerm!: PodAffinityTerm -- The wish.
type PodAffinity "Pods to be near to."
  requiredDuringSchedulingIgnoredDuringExecution: []PodAffinityTerm -- Must be near.
  preferredDuringSchedulingIgnoredDuringExecution: []WeightedPodAffinityTerm -- Had better be near.
type PodAntiAffinity "Pods to be far from."
  requiredDuringSchedulingIgnoredDuringExecution: []PodAffinityTerm -- Must be far.
  preferredDuringSchedulingIgnoredDuringExecution: []WeightedPodAffinityTerm -- Had better be far.
type Affinity "Where a pod goes."
  nodeAffinity: NodeAffinity -- By node.
  podAffinity: PodAffinity -- Near to pods.
  podAntiAffinity: PodAntiAffinity -- Far from pods.
type TopologySpreadConstraint "How evenly pods spread."
  maxSkew!: int32 -- Greatest difference between two domains.
  topologyKey!: string -- Node label that makes domains.
  whenUnsatisfiable!: string enum(DoNotSchedule,ScheduleAnyway) -- What to do otherwise.
  labelSelector: LabelSelector -- Pods that count.
  minDomains: int32 -- Least number of domains.
  nodeAffinityPolicy: string -- Honor or Ignore the pod's node affinity.
  nodeTaintsPolicy: string -- Honor or Ignore taints.
  matchLabelKeys: []string -- Labels whose values this pod's own must equal.
type HostAlias "A line of the hosts file."
  ip!: string -- Address.
  hostnames: []string -- Names.
type PodDNSConfigOption "One resolver option."
  name: string -- Name.
  value: string -- Value.
type PodDNSConfig "Resolver configuration."
  nameservers: []string -- Servers.
  searches: []string -- Search domains.
  options: []PodDNSConfigOption -- Options.
type Sysctl "A kernel parameter."
  name!: string -- Name.
  value!: string -- Value.
type PodSecurityContext "Privileges of all containers."
  seLinuxOptions: SELinuxOptions -- SELinux labels.
  windowsOptions: WindowsSecurityContextOptions -- Options for Windows.
  runAsUser: int64 -- User id of processes.
  runAsGroup: int64 -- Group id of processes.
  runAsNonRoot: bool -- Refuse to run as root.
  supplementalGroups: []int64 -- Further groups.
  supplementalGroupsPolicy: string enum(Merge,Strict) -- Merge or Strict.
  fsGroup: int64 -- Group that owns the volumes.
  sysctls: []Sysctl -- Kernel parameters.
  fsGroupChangePolicy: string enum(Always,OnRootMismatch) -- OnRootMismatch or Always.
  seccompProfile: SeccompProfile -- System call filter.
  appArmorProfile: AppArmorProfile -- AppArmor profile.
  seLinuxChangePolicy: string -- How labels get onto volumes.
type PodReadinessGate "A condition that counts for readiness."
  conditionType!: string -- Type of the condition.
type PodSchedulingGate "Delays scheduling until it is removed."
  name!: string -- Name.
type PodOS "Operating system of the pod."
  name!: string -- linux or windows.
type PodResourceClaim "A claim on devices."
  name!: string -- Name in the pod.
  resourceClaimName: string -- The claim.
  resourceClaimTemplateName: string -- Or a template for it.
type PodSpec "What a pod runs, and with what."
  volumes: []Volume map(name) merge(name) retain -- Volumes that containers can mount.
  initContainers: []Container map(name) merge(name) -- Run one after the other before the others.
  containers!: []Container map(name) merge(name) -- The containers; at least one.
  ephemeralContainers: []EphemeralContainer map(name) merge(name) -- Added to debug the running pod.
  restartPolicy: string =Always enum(Always,Never,OnFailure) -- When containers are restarted.
  terminationGracePeriodSeconds: int64 =30 -- Time between the stop signal and the kill.
  activeDeadlineSeconds: int64 -- Time after which the pod is made to fail.
  dnsPolicy: string =ClusterFirst enum(ClusterFirst,ClusterFirstWithHostNet,Default,None) -- How names are resolved.
  nodeSelector: {}string atomic -- Labels the node must have.
  serviceAccountName: string -- Service account of the pod.
  serviceAccount: string -- Old name of serviceAccountName.
  automountServiceAccountToken: bool -- Whether its token is mounted.
  nodeName: string -- The node; set by the scheduler.
  hostNetwork: bool -- Use the node's network.
  hostPID: bool -- Use the node's process ids.
  hostIPC: bool -- Use the node's IPC.
  shareProcessNamespace: bool -- Containers see each other's processes.
  securityContext: PodSecurityContext ={} -- Privileges of all containers.
  imagePullSecrets: []LocalObjectReference map(name) merge(name) -- Credentials for images.
  hostname: string -- Host name of the pod.
  hostnameOverride: string -- Host name, whatever else is set.
  subdomain: string -- Domain of the host name.
  affinity: Affinity -- Where the pod goes.
  schedulerName: string =default-scheduler -- Who schedules it.
  tolerations: []Toleration -- Taints that do not keep it away.
  hostAliases: []HostAlias map(ip) merge(ip) -- Lines of the hosts file.
  priorityClassName: string -- Importance, by name.
  priority: int32 -- Importance.
  dnsConfig: PodDNSConfig -- Resolver configuration.
  readinessGates: []PodReadinessGate -- Further conditions for readiness.
  runtimeClassName: string -- How containers are run.
  enableServiceLinks: bool =true -- Variables for services.
  preemptionPolicy: string -- Whether it may push others out.
  overhead: {}quantity -- Resources used by the runtime.
  topologySpreadConstraints: []TopologySpreadConstraint map(topologyKey,whenUnsatisfiable) merge(topologyKey) -- How evenly pods spread.
  setHostnameAsFQDN: bool -- The host name is the full one.
  os: PodOS -- Operating system.
  hostUsers: bool -- Use the node's user ids.
  schedulingGates: []PodSchedulingGate map(name) merge(name) -- Hold scheduling back.
  resourceClaims: []PodResourceClaim map(name) merge(name) retain -- Claims on devices.
  resources: ResourceRequirements -- Resources of the pod as a whole.
type Pod "Containers that run together on one node."
  apiVersion: string -- Version of this form of the object.
  kind: string -- Kind of the object.
  metadata: ObjectMeta -- Identity and bookkeeping.
  spec: PodSpec -- What it runs.
  status: PodStatus ={} -- How it is; read only.
type PodCondition "One aspect of a pod's state."
  type!: string -- Name of the aspect, such as Ready.
  status!: string -- True, False or Unknown.
  observedGeneration: int64 -- Generation that it was derived from.
  lastProbeTime: any -- When it was last probed.
  lastTransitionTime: time -- When the status last changed.
  reason: string -- Reason in CamelCase.
  message: string -- Human-readable message.
type IPAddress "An address."
  ip!: string -- The address.
type ContainerStateWaiting "Not running yet."
  reason: string -- Reason in CamelCase.
  message: string -- Human-readable message.
type ContainerStateRunning "Running."
  startedAt: time -- Since when.
type ContainerStateTerminated "Ended."
  exitCode!: int32 -- Exit code.
  signal: int32 -- Signal that ended it.
  reason: string -- Reason in CamelCase.
  message: string -- Human-readable message.
  startedAt: time -- When it began.
  finishedAt: time -- When it ended.
  containerID: string -- Which run it was.
type ContainerState "State of a container; one of the three."
  waiting: ContainerStateWaiting -- Not running yet.
  running: ContainerStateRunning -- Running.
  terminated: ContainerStateTerminated -- Ended.
type ContainerStatus "How a container is."
  name!: string -- Name of the container.
  state: ContainerState ={} -- What it is doing.
  lastState: ContainerState ={} -- How the run before ended.
  ready!: bool -- Whether it is ready.
  restartCount!: int32 -- How often it was restarted.
  image!: string -- What it runs.
  imageID!: string -- Digest of that.
  containerID: string -- Id of this run.
  started: bool -- Whether it has started up.
  allocatedResources: {}quantity -- Resources that the node set aside.
  resources: ResourceRequirements -- Resources in force.
  volumeMounts: []VolumeMountStatus map(mountPath) merge(mountPath) -- How its volumes are mounted.
  user: object -- User of the first process.
  allocatedResourcesStatus: []any -- Health of devices.
  stopSignal: string -- Signal that stops it.
type VolumeMountStatus "How a volume is mounted."
  name!: string -- Name of the volume.
  mountPath!: string -- Where.
  readOnly: bool -- Read-only.
  recursiveReadOnly: string -- Whether mounts below are too.
type PodStatus "How a pod is."
  observedGeneration: int64 -- Generation that this was derived from.
  phase: string enum(Failed,Pending,Running,Succeeded,Unknown) -- Where in its life it is.
  conditions: []PodCondition map(type) merge(type) -- Further aspects.
  message: string -- Human-readable message.
  reason: string -- Reason in CamelCase.
  nominatedNodeName: string -- Node on which room is being made.
  hostIP: string -- Address of the node.
  hostIPs: []IPAddress merge(ip) -- All addresses of the node.
  podIP: string -- Address of the pod.
  podIPs: []IPAddress map(ip) merge(ip) -- All addresses of the pod.
  startTime: time -- When the node took it on.
  initContainerStatuses: []ContainerStatus -- Init containers.
  containerStatuses: []ContainerStatus -- Containers.
  ephemeralContainerStatuses: []ContainerStatus -- Added containers.
  qosClass: string -- Guaranteed, Burstable or BestEffort.
  resize: string -- A resize under way.
  resourceClaimStatuses: []any -- Claims on devices.
type Binding "Puts a pod onto a node."
  apiVersion: string -- Version of this form of the object.
  kind: string -- Kind of the object.
  metadata: ObjectMeta -- Identity and bookkeeping.
  target!: ObjectReference -- The node.
`,
  [metaTypes, sharedTypes, containerTypes, volumeTypes],
);
