import type { PolicyRule } from "../auth/rules.ts";

const READ = ["get", "list", "watch"];
const CHANGE = ["create", "delete", "deletecollection", "patch", "update"];
const ALL = [...READ, ...CHANGE];
const rule = (verbs: string[], apiGroup: string, resources: string[]): PolicyRule => ({
  verbs,
  apiGroups: [apiGroup],
  resources,
});
const withStatus = (names: string[]) => names.flatMap((name) => [name, `${name}/status`]);

const WORKLOADS = ["daemonsets", "deployments", "replicasets", "statefulsets"];
const SCALABLE = ["deployments/scale", "replicasets/scale", "statefulsets/scale"];
const EXEC = ["pods/attach", "pods/exec", "pods/portforward", "pods/proxy"];
const OLD = ["daemonsets", "deployments", "ingresses", "networkpolicies", "replicasets"];
const OLD_SCALES = ["deployments/scale", "replicasets/scale", "replicationcontrollers/scale"];
const CONTROLLERS = ["replicationcontrollers", "replicationcontrollers/scale"];
/** What volumes of a namespace are made and copied by. */
const SNAPSHOTS: readonly (readonly [group: string, resources: string[]])[] = [
  ["snapshot.storage.k8s.io", ["volumesnapshots"]],
  ["groupsnapshot.storage.k8s.io", ["volumegroupsnapshots"]],
  [
    "storage.mooring.dev",
    ["volumegroups", "volumegrouprestores", "volumegroupclones", "volumegroupreverts", "recurringjobs"],
  ],
];

/** `view`: reads what is in a namespace, but no secrets and no roles. */
export const VIEW: readonly PolicyRule[] = [
  rule(READ, "", ["configmaps", "endpoints", "persistentvolumeclaims", "persistentvolumeclaims/status"]),
  rule(READ, "", ["pods", ...CONTROLLERS, "serviceaccounts", "services", "services/status"]),
  rule(READ, "", ["bindings", "events", "limitranges", "namespaces", "namespaces/status"]),
  rule(READ, "", ["pods/log", "pods/status", "replicationcontrollers/status"]),
  rule(READ, "", withStatus(["resourcequotas"])),
  rule(READ, "events.k8s.io", ["events"]),
  rule(READ, "resource.k8s.io", [...withStatus(["resourceclaims"]), "resourceclaimtemplates"]),
  rule(READ, "discovery.k8s.io", ["endpointslices"]),
  rule(READ, "apps", ["controllerrevisions", ...withStatus(WORKLOADS), ...SCALABLE]),
  rule(READ, "autoscaling", withStatus(["horizontalpodautoscalers"])),
  rule(READ, "batch", withStatus(["cronjobs", "jobs"])),
  rule(READ, "extensions", [...OLD, ...OLD_SCALES, "daemonsets/status", "deployments/status"]),
  rule(READ, "extensions", ["ingresses/status", "replicasets/status"]),
  rule(READ, "policy", withStatus(["poddisruptionbudgets"])),
  rule(READ, "networking.k8s.io", [...withStatus(["ingresses"]), "networkpolicies"]),
  ...SNAPSHOTS.map(([group, resources]) => rule(READ, group, withStatus(resources))),
];

/** `edit`: changes it as well, reads secrets, and becomes its service accounts. */
export const EDIT: readonly PolicyRule[] = [
  rule(READ, "", [...EXEC, "secrets", "services/proxy"]),
  rule(["impersonate"], "", ["serviceaccounts"]),
  rule(CHANGE, "", ["pods", ...EXEC]),
  rule(["create"], "", ["pods/eviction", "serviceaccounts/token"]),
  rule(CHANGE, "", ["configmaps", "events", "persistentvolumeclaims", ...CONTROLLERS, "secrets"]),
  rule(CHANGE, "", ["serviceaccounts", "services", "services/proxy"]),
  rule(CHANGE, "events.k8s.io", ["events"]),
  rule(CHANGE, "resource.k8s.io", ["resourceclaims", "resourceclaimtemplates"]),
  rule(CHANGE, "apps", [...WORKLOADS, ...SCALABLE, "deployments/rollback"]),
  rule(CHANGE, "autoscaling", ["horizontalpodautoscalers"]),
  rule(CHANGE, "batch", ["cronjobs", "jobs"]),
  rule(CHANGE, "extensions", [...OLD, ...OLD_SCALES, "deployments/rollback"]),
  rule(CHANGE, "policy", ["poddisruptionbudgets"]),
  rule(CHANGE, "networking.k8s.io", ["ingresses", "networkpolicies"]),
  rule(ALL, "coordination.k8s.io", ["leases"]),
  ...SNAPSHOTS.map(([group, resources]) => rule(CHANGE, group, resources)),
];

/** `admin`: gives others a part of what it has. */
export const ADMIN: readonly PolicyRule[] = [
  rule(["create"], "authorization.k8s.io", ["localsubjectaccessreviews"]),
  rule(ALL, "rbac.authorization.k8s.io", ["rolebindings", "roles"]),
];
