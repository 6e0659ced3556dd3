import { TypeTable } from "../../schema/dsl.ts";
import { metaTypes } from "../../schema/object-meta.ts";
import { sharedTypes } from "./shared.ts";

const HEAD = `
  apiVersion: string -- Version of this form of the object.
  kind: string -- Kind of the object.
  metadata: ObjectMeta -- Identity and bookkeeping.`;

/** The smaller core kinds. */
export const coreTypes = new TypeTable(
  "io.k8s.api.core.v1",
  `
type NamespaceSpec "What keeps a namespace from being deleted."
  finalizers: []string -- What must happen before the namespace may go.
type NamespaceCondition "One aspect of a namespace's state."
  type!: string -- Name of the aspect.
  status!: string -- True, False or Unknown.
  lastTransitionTime: time -- When the status last changed.
  reason: string -- Reason in CamelCase.
  message: string -- Human-readable message.
type NamespaceStatus "How a namespace is."
  phase: string -- Active or Terminating.
  conditions: []NamespaceCondition map(type) merge(type) -- Further aspects.
type Namespace "A space for names."${HEAD}
  spec: NamespaceSpec ={} -- What keeps it from being deleted.
  status: NamespaceStatus ={} -- How it is; read only.
type ConfigMap "Configuration as keys and values."${HEAD}
  immutable: bool -- The data never change any more.
  data: {}string -- Keys and texts.
  binaryData: {}bytes -- Keys and bytes.
type Secret "Confidential keys and values."${HEAD}
  immutable: bool -- The data never change any more.
  data: {}bytes -- Keys and bytes, in base64.
  stringData: {}string -- Keys and texts that are merged into data; write only.
  type: string =Opaque -- What kind of secret it is.
type ServiceAccount "An identity for processes."${HEAD}
  secrets: []ObjectReference map(name) merge(name) -- Secrets its pods may use.
  imagePullSecrets: []LocalObjectReference -- Credentials for images.
  automountServiceAccountToken: bool -- Whether its token is mounted.
type EventSource "Who reported an event."
  component: string -- The component.
  host: string -- Its node.
type EventSeries "How often an event was seen."
  count: int32 -- Occurrences.
  lastObservedTime: microTime -- When it was last seen.
type Event "Something that happened to an object."${HEAD}
  involvedObject!: ObjectReference -- The object.
  reason: string -- What happened, in CamelCase.
  message: string -- Human-readable message.
  source: EventSource ={} -- Who reported it.
  firstTimestamp: time -- When it was first seen.
  lastTimestamp: time -- When it was last seen.
  count: int32 -- How often.
  type: string -- Normal or Warning.
  eventTime: microTime -- When it was first seen, exactly.
  series: EventSeries -- How often, for newer reporters.
  action: string -- What was being done.
  related: ObjectReference -- Another object that matters.
  reportingComponent: string ="" -- Controller that reported it.
  reportingInstance: string ="" -- Which instance of that.
type ServicePort "A port of a service."
  name: string -- Name of the port.
  protocol: string =TCP enum(SCTP,TCP,UDP) -- Protocol.
  appProtocol: string -- Protocol of the application.
  port!: int32 min(1) max(65535) -- Port of the service.
  targetPort: intOrString -- Port of the pods.
  nodePort: int32 -- Port of the nodes.
type ServiceSpec "How a service is reached."
  ports: []ServicePort map(port,protocol) merge(port) -- Its ports.
  selector: {}string atomic -- Labels of its pods.
  clusterIP: string -- Its address; None for headless.
  clusterIPs: []string -- All addresses.
  type: string =ClusterIP enum(ClusterIP,ExternalName,LoadBalancer,NodePort) -- How it is exposed.
  externalIPs: []string -- Further addresses.
  sessionAffinity: string =None -- ClientIP or None.
  loadBalancerIP: string -- Wanted address of the load balancer.
  loadBalancerSourceRanges: []string -- Who may connect.
  externalName: string -- Name that it stands for.
  externalTrafficPolicy: string -- Cluster or Local.
  healthCheckNodePort: int32 -- Port for health checks.
  publishNotReadyAddresses: bool -- Pods count before they are ready.
  sessionAffinityConfig: object -- Details of session affinity.
  ipFamilies: []string -- IPv4, IPv6.
  ipFamilyPolicy: string -- One or two families.
  allocateLoadBalancerNodePorts: bool -- Whether node ports are made.
  loadBalancerClass: string -- Which load balancer.
  internalTrafficPolicy: string -- Cluster or Local.
  trafficDistribution: string -- Which endpoints are preferred.
type Service "A name and address for pods. Stored only: nothing here routes traffic."${HEAD}
  spec: ServiceSpec ={} -- How it is reached.
  status: object ={} -- How it is; read only.
`,
  [metaTypes, sharedTypes],
);
