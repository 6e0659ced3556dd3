import {
  forbidden,
  isNotFound,
  type JsonStore,
  type Resource,
  type UnstructuredObject,
} from "@mooring/store";
import type { Api } from "../api.ts";
import { logAccessName } from "../auth/node-authorizer.ts";
import { nodeOf } from "../auth/node-name.ts";
import type { Call } from "../http/call.ts";
import { type ItemTarget, keyOfTarget, type Target } from "../resources/target.ts";
import type { Admit } from "./escalation.ts";
import {
  type Check,
  claimOfPod,
  fields,
  type Objects,
  ownLease,
  ownName,
  ownNode,
  ownPod,
  same,
  unchangedSpec,
} from "./node-objects.ts";

const GROUP = "storage.mooring.dev";

const CHECKS: Readonly<Record<string, Check>> = {
  "/nodes": ownNode,
  "/pods": ownPod,
  "/secrets": (node, { next, old }) =>
    old === undefined && next.metadata.name !== logAccessName(node)
      ? "a node makes the Secret of its own logs only"
      : undefined,
  "/persistentvolumeclaims": claimOfPod,
  "/events": () => undefined,
  "events.k8s.io/events": () => undefined,
  "coordination.k8s.io/leases": ownLease,
  "storage.k8s.io/csinodes": ownName,
  [`${GROUP}/nodeagents`]: ownName,
  [`${GROUP}/pools`]: ownPool,
  [`${GROUP}/volumes`]: ownVolume,
  [`${GROUP}/snapshots`]: ownSnapshot,
  [`${GROUP}/groupsnapshots`]: (_node, { next, old }) => unchangedSpec(next, old),
  [`${GROUP}/sharemanagers`]: ownShare,
};

/** What a node takes away has to be its own, too: of what it may delete, leases are known by more than their name. */
export function nodeDeletion({ user }: Call, target: ItemTarget, { store }: Api): void {
  const node = nodeOf(user);
  if (node === undefined || target.plural !== "leases") return;
  let lease: UnstructuredObject;
  try {
    lease = JSON.parse(store.getJson(target.resource, keyOfTarget(target))) as UnstructuredObject;
  } catch (error) {
    if (isNotFound(error)) return;
    throw error;
  }
  const why = ownLease(node, { next: lease, old: lease });
  if (why !== undefined) throw forbidden(target.resource, target.name, `node ${node}: ${why}`);
}

/** A node writes its own objects, and of others what relates to it. */
export function nodeRestriction({ user }: Call, target: Target, { store }: Api): Admit | undefined {
  const node = nodeOf(user);
  if (node === undefined) return undefined;
  const key = `${target.group}/${target.plural}`;
  const check = Object.hasOwn(CHECKS, key) ? CHECKS[key] : undefined;
  return (next, old) => {
    // What RBAC gives to a node beyond the rule book is an administrator's business.
    const why = check?.(node, { next, old }, { store, target });
    if (why !== undefined) throw forbidden(target.resource, next.metadata.name, `node ${node}: ${why}`);
  };
}

function ownPool(node: string, { next, old }: Objects): string | undefined {
  const owner = fields((old ?? next).spec).nodeID;
  return owner === undefined || owner === node
    ? undefined
    : `is not allowed to write the pool of ${String(owner)}`;
}

function ownVolume(
  node: string,
  { next, old }: Objects,
  { store }: { store: JsonStore },
): string | undefined {
  if (old === undefined || !same(next.spec, old.spec)) return "does not say what becomes of volumes";
  return isRelated(old, node, store) ? undefined : "the volume is not on it";
}

function ownSnapshot(
  node: string,
  { next, old }: Objects,
  { store }: { store: JsonStore },
): string | undefined {
  const wrong = unchangedSpec(next, old);
  if (wrong !== undefined || old === undefined) return wrong;
  const { pool, volume } = fields(old.spec);
  const parent = typeof volume === "string" ? find(store, "Volume", volume) : undefined;
  const here = hasPool(pool, node, store) || (parent !== undefined && isRelated(parent, node, store));
  return here ? undefined : "the snapshot is not on it";
}

function ownShare(node: string, { next, old }: Objects): string | undefined {
  const wrong = unchangedSpec(next, old);
  const here = fields(old?.spec).nodeID === node || fields(old?.status).nodeID === node;
  return wrong ?? (here ? undefined : "does not serve this volume");
}

/** The volume is, was last or is to be there, or in a pool that the node has open. */
function isRelated(volume: UnstructuredObject, node: string, store: JsonStore): boolean {
  const [spec, status] = [fields(volume.spec), fields(volume.status)];
  const nodes = [spec.nodeID, spec.migrationNodeID, status.currentNodeID, status.ownerID];
  return nodes.includes(node) || hasPool(spec.pool, node, store);
}

function hasPool(name: unknown, node: string, store: JsonStore): boolean {
  const pool = typeof name === "string" ? find(store, "Pool", name) : undefined;
  if (pool === undefined) return false;
  const { nodes } = fields(pool.status);
  return fields(pool.spec).nodeID === node || (Array.isArray(nodes) && nodes.includes(node));
}

function find(store: JsonStore, kind: "Volume" | "Pool", name: string): UnstructuredObject | undefined {
  const plural = `${kind.toLowerCase()}s`;
  const resource: Resource = { group: GROUP, version: "v1alpha1", kind, plural, namespaced: false };
  try {
    return JSON.parse(store.getJson(resource, { name })) as UnstructuredObject;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
