import { TypeTable } from "../../schema/dsl.ts";
import { metaTypes } from "../../schema/object-meta.ts";
import { sharedTypes } from "./shared.ts";

const HEAD = `
  apiVersion: string -- Version of this form of the object.
  kind: string -- Kind of the object.
  metadata: ObjectMeta -- Identity and bookkeeping.`;

/** The schema of Leases. */
export const coordinationTypes = new TypeTable(
  "io.k8s.api.coordination.v1",
  `
type LeaseSpec "Who holds a lease, and since when."
  holderIdentity: string -- Who holds it.
  leaseDurationSeconds: int32 -- How long after the last renewal it may be taken.
  acquireTime: microTime -- When it was taken.
  renewTime: microTime -- When it was last renewed.
  leaseTransitions: int32 -- How often it changed hands.
  strategy: string -- How a holder is picked.
  preferredHolder: string -- Who should hold it instead.
type Lease "A lock that must be renewed."${HEAD}
  spec: LeaseSpec ={} -- Who holds it.
`,
  [metaTypes],
);

/** The schema of events. */
export const eventTypes = new TypeTable(
  "io.k8s.api.events.v1",
  `
type EventSource "Who reported an event."
  component: string -- The component.
  host: string -- Its node.
type EventSeries "How often an event was seen."
  count!: int32 -- Occurrences.
  lastObservedTime!: microTime -- When it was last seen.
type Event "Something that happened to an object."${HEAD}
  eventTime: microTime -- When it was first seen.
  series: EventSeries -- How often it was seen.
  reportingController: string -- Controller that reported it.
  reportingInstance: string -- Which instance of that.
  action: string -- What was being done.
  reason: string -- What happened, in CamelCase.
  regarding: ObjectReference ={} -- The object.
  related: ObjectReference -- Another object that matters.
  note: string -- What happened, for human readers.
  type: string -- Normal or Warning.
  deprecatedSource: EventSource ={} -- Old form of who reported it.
  deprecatedFirstTimestamp: time -- Old form of when it was first seen.
  deprecatedLastTimestamp: time -- Old form of when it was last seen.
  deprecatedCount: int32 -- Old form of how often.
`,
  [metaTypes, sharedTypes],
);

/** The schema of roles and bindings. */
export const rbacTypes = new TypeTable(
  "io.k8s.api.rbac.v1",
  `
type PolicyRule "What may be done to what."
  verbs!: []string -- What may be done; * means everything.
  apiGroups: []string -- Groups of the resources.
  resources: []string -- The resources.
  resourceNames: []string -- Only objects of these names.
  nonResourceURLs: []string -- Paths that are no resources.
type RoleRef "The role that is given."
  apiGroup: string =rbac.authorization.k8s.io -- Group of the role.
  kind!: string -- Role or ClusterRole.
  name!: string -- Name of the role.
type Subject "Who is given it."
  kind!: string -- User, Group or ServiceAccount.
  apiGroup: string -- Group of the subject.
  name!: string -- Name of the subject.
  namespace: string -- Namespace of a service account; absent in a RoleBinding means its own.
type AggregationRule "Roles that a role is put together from."
  clusterRoleSelectors: []LabelSelector -- The roles, by label.
type Role "Permissions within a namespace."${HEAD}
  rules: []PolicyRule -- The permissions.
type ClusterRole "Permissions in the whole cluster."${HEAD}
  rules: []PolicyRule -- The permissions.
  aggregationRule: AggregationRule -- Roles that this one is put together from.
type RoleBinding "Gives a role within a namespace."${HEAD}
  subjects: []Subject -- Who is given it.
  roleRef!: RoleRef -- The role.
type ClusterRoleBinding "Gives a role in the whole cluster."${HEAD}
  subjects: []Subject -- Who is given it.
  roleRef!: RoleRef -- The role.
`,
  [metaTypes],
);
rbacTypes.get("RoleRef")["x-kubernetes-map-type"] = "atomic";
rbacTypes.get("Subject")["x-kubernetes-map-type"] = "atomic";
