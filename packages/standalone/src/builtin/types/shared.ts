import { TypeTable } from "../../schema/dsl.ts";
import { metaTypes } from "../../schema/object-meta.ts";

/** References and selectors that several core kinds use. */
export const sharedTypes = new TypeTable(
  "io.k8s.api.core.v1",
  `
type LocalObjectReference "The name of an object in the same namespace."
  name: string -- Name of the object.
type SecretReference "A Secret in any namespace."
  name: string -- Name of the Secret.
  namespace: string -- Namespace of the Secret.
type ObjectReference "Any object, or a part of one."
  apiVersion: string -- API version of the object.
  kind: string -- Kind of the object.
  name: string -- Name of the object.
  namespace: string -- Namespace of the object.
  uid: string -- UID of the object.
  resourceVersion: string -- Version of the object that is meant.
  fieldPath: string -- The part of the object that is meant.
type TypedLocalObjectReference "An object of a given kind in the same namespace."
  apiGroup: string -- Group of the kind; absent for the core group.
  kind!: string -- Kind of the object.
  name!: string -- Name of the object.
type TypedObjectReference "An object of a given kind, maybe in another namespace."
  apiGroup: string -- Group of the kind; absent for the core group.
  kind!: string -- Kind of the object.
  name!: string -- Name of the object.
  namespace: string -- Namespace of the object; needs a ReferenceGrant there.
type NodeSelectorRequirement "One condition on a node's labels or fields."
  key!: string -- Label key or field name.
  operator!: string enum(DoesNotExist,Exists,Gt,In,Lt,NotIn) -- How values are compared.
  values: []string -- What the operator compares with.
type NodeSelectorTerm "Conditions that must all match."
  matchExpressions: []NodeSelectorRequirement -- Conditions on labels.
  matchFields: []NodeSelectorRequirement -- Conditions on fields.
type NodeSelector "Terms of which one must match."
  nodeSelectorTerms!: []NodeSelectorTerm -- The terms.
type TopologySelectorLabelRequirement "One topology key and its allowed values."
  key!: string -- Topology key.
  values!: []string -- Values of which one must match.
type TopologySelectorTerm "Topology conditions that must all match."
  matchLabelExpressions: []TopologySelectorLabelRequirement -- The conditions.
type Toleration "A taint that does not keep the pod away."
  key: string -- Key of the taint; empty with operator Exists means all taints.
  operator: string enum(Equal,Exists,Gt,Lt) -- Equal (default) compares the value, Exists does not.
  value: string -- Value of the taint.
  effect: string enum(NoSchedule,PreferNoSchedule,NoExecute) -- Effect of the taint; empty means all.
  tolerationSeconds: int64 -- How long the pod stays after a NoExecute taint; absent means for ever.
type Taint "Keeps pods that do not tolerate it off a node."
  key!: string -- Key of the taint.
  value: string -- Value of the taint.
  effect!: string enum(NoSchedule,PreferNoSchedule,NoExecute) -- What happens to pods that do not tolerate it.
  timeAdded: time -- When a NoExecute taint was added.
type ResourceClaim "One of the pod's resource claims."
  name!: string -- Name in the pod's resourceClaims.
  request: string -- One request of the claim; empty means all.
type ResourceRequirements "Compute resources that a container asks for."
  limits: {}quantity -- Most that may be used.
  requests: {}quantity -- What is reserved; defaults to the limits.
  claims: []ResourceClaim map(name) -- Resource claims the container uses.
type VolumeResourceRequirements "Storage that a claim asks for."
  limits: {}quantity -- Most that the volume may have.
  requests: {}quantity -- Least that the volume must have; key storage.
`,
  [metaTypes],
);
// One value each: half a reference or half a selector means nothing.
for (const name of [
  "LocalObjectReference",
  "SecretReference",
  "ObjectReference",
  "TypedLocalObjectReference",
  "NodeSelectorTerm",
  "NodeSelector",
  "TopologySelectorTerm",
]) {
  sharedTypes.get(name)["x-kubernetes-map-type"] = "atomic";
}
