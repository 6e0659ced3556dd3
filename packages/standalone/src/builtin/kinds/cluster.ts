import { Namespaces, Nodes, type UnstructuredObject } from "@mooring/store";
import { age } from "../../kinds/age.ts";
import {
  ageColumn,
  type BuiltinKind,
  column,
  digList,
  digObject,
  digText,
  text,
  wide,
} from "../../kinds/builtin-kind.ts";
import { coreTypes } from "../types/core.ts";
import { nodeTypes } from "../types/node.ts";

const NAME_LABEL = "kubernetes.io/metadata.name";

const namespaces: BuiltinKind = {
  resource: Namespaces,
  schema: coreTypes.get("Namespace"),
  singular: "namespace",
  shortNames: ["ns"],
  hasStatus: true,
  columns: [column("Status", (ns) => digText(ns, "status", "phase")), ageColumn],
  rules: {
    name: "label",
    prepareCreate(ns) {
      ns.status = { phase: "Active" };
      ns.spec = { finalizers: [...new Set([...listOf(ns), "kubernetes"])] };
    },
    prepareUpdate(ns, old, subresource) {
      // Only the finalize subresource changes the finalizers of a namespace.
      if (subresource !== "finalize" && old.spec !== undefined) ns.spec = structuredClone(old.spec);
    },
    defaults(ns) {
      ns.metadata.labels = { ...ns.metadata.labels, [NAME_LABEL]: ns.metadata.name };
    },
    selectableFields: (ns) => ({ "status.phase": digText(ns, "status", "phase"), name: ns.metadata.name }),
  },
};

function listOf(ns: UnstructuredObject): string[] {
  const finalizers = digObject(ns, "spec").finalizers;
  return Array.isArray(finalizers) ? finalizers.map(String) : [];
}

function nodeStatus(node: UnstructuredObject): string {
  const ready = digList(node, "status", "conditions").find((c) => c.type === "Ready");
  const states = [ready === undefined ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady"];
  if (digObject(node, "spec").unschedulable === true) states.push("SchedulingDisabled");
  return states.join(",");
}

const ROLE_PREFIX = "node-role.kubernetes.io/";
function nodeRoles(node: UnstructuredObject): string {
  const labels = node.metadata.labels ?? {};
  const roles = Object.keys(labels)
    .filter((key) => key.startsWith(ROLE_PREFIX) && key !== ROLE_PREFIX)
    .map((key) => key.slice(ROLE_PREFIX.length));
  const own = labels["kubernetes.io/role"];
  return text([...new Set([...roles, ...(own === undefined ? [] : [own])])].sort().join(","));
}

const address = (node: UnstructuredObject, type: string): string =>
  text(digList(node, "status", "addresses").find((a) => a.type === type)?.address);
const info = (node: UnstructuredObject, field: string): string =>
  text(digText(node, "status", "nodeInfo", field), "<unknown>");

const nodes: BuiltinKind = {
  resource: Nodes,
  schema: nodeTypes.get("Node"),
  singular: "node",
  shortNames: ["no"],
  hasStatus: true,
  keepStatusOnCreate: true,
  columns: [
    column("Status", nodeStatus),
    column("Roles", nodeRoles),
    column("Age", (node, now) => age(node.metadata.creationTimestamp, now)),
    column("Version", (node) => digText(node, "status", "nodeInfo", "kubeletVersion")),
    wide("Internal-IP", (node) => address(node, "InternalIP")),
    wide("External-IP", (node) => address(node, "ExternalIP")),
    wide("OS-Image", (node) => info(node, "osImage")),
    wide("Kernel-Version", (node) => info(node, "kernelVersion")),
    wide("Container-Runtime", (node) => info(node, "containerRuntimeVersion")),
  ],
  rules: {
    defaults(node) {
      const status = digObject(node, "status");
      if (status.capacity !== undefined && status.allocatable === undefined) {
        status.allocatable = structuredClone(status.capacity);
      }
    },
    selectableFields: (node) => ({
      "spec.unschedulable": String(digObject(node, "spec").unschedulable === true),
    }),
  },
};

/** Kinds of the cluster itself. */
export const clusterKinds: readonly BuiltinKind[] = [namespaces, nodes];
