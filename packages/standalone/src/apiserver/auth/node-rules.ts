/**
 * What a node may do (`system:node:NAME`), before an object has been read; the rest is in
 * `admission/node-restriction.ts`. Keys are `group/resource`.
 */
const READ = ["get", "list", "watch"];
const WRITE = ["update", "patch"];

/** Contain no secrets: a node sees what volumes there are, and where. */
const READ_FREELY: Readonly<Record<string, readonly string[]>> = {
  "": ["nodes", "persistentvolumes", "persistentvolumeclaims", "namespaces"],
  "storage.k8s.io": [
    "csidrivers",
    "csinodes",
    "csistoragecapacities",
    "storageclasses",
    "volumeattachments",
    "volumeattributesclasses",
  ],
  "storage.mooring.dev": [
    "volumes",
    "volumeattachments",
    "snapshots",
    "groupsnapshots",
    "pools",
    "nodeagents",
    "sharemanagers",
    "volumesets",
  ],
  "coordination.k8s.io": ["leases"],
  "snapshot.storage.k8s.io": ["volumesnapshotclasses"],
};

/** Verbs on objects that carry the node's own name. */
const OWN: Readonly<Record<string, readonly string[]>> = {
  "/nodes": ["create", ...WRITE],
  "/nodes/status": WRITE,
  "storage.k8s.io/csinodes": ["create", "delete", ...WRITE],
  "storage.mooring.dev/nodeagents": ["create", "delete", ...WRITE],
  "storage.mooring.dev/nodeagents/status": WRITE,
};

/** Verbs on objects related to the node: admission asks the object itself. */
const RELATED: Readonly<Record<string, readonly string[]>> = {
  "/events": ["create", ...WRITE],
  "events.k8s.io/events": ["create", ...WRITE],
  "/pods/status": WRITE,
  "coordination.k8s.io/leases": ["create", "delete", ...WRITE],
  "storage.mooring.dev/pools": ["create", ...WRITE],
  "storage.mooring.dev/pools/status": WRITE,
  "storage.mooring.dev/volumes": WRITE,
  "storage.mooring.dev/volumes/status": WRITE,
  "storage.mooring.dev/snapshots": WRITE,
  "storage.mooring.dev/snapshots/status": WRITE,
  "storage.mooring.dev/groupsnapshots": WRITE,
  "storage.mooring.dev/groupsnapshots/status": WRITE,
  "storage.mooring.dev/sharemanagers/status": WRITE,
};

const has = (table: Readonly<Record<string, readonly string[]>>, key: string, value: string): boolean =>
  Object.hasOwn(table, key) && table[key]?.includes(value) === true;

interface AccessRequest {
  verb: string;
  group: string;
  resource: string;
  subresource: string;
  name: string;
}

/** Whether the rules alone allow it. */
export function isNodeRight(
  { verb, group, resource, subresource, name }: AccessRequest,
  node: string,
): boolean {
  if (READ.includes(verb) && (subresource === "" || subresource === "status"))
    if (has(READ_FREELY, group, resource)) return true;
  const key = subresource === "" ? `${group}/${resource}` : `${group}/${resource}/${subresource}`;
  if (has(OWN, key, verb)) return name === node || (verb === "create" && name === "");
  return has(RELATED, key, verb);
}
