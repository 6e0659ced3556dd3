import {
  forbidden,
  isNotFound,
  type LocalStore,
  Pods,
  type Resource,
  type UnstructuredObject,
} from "@mooring/store";
import { isObject } from "../../schema/model.ts";
import type { Api } from "../api.ts";
import { logAccessName } from "../auth/node-authorizer.ts";
import { nodeOf } from "../auth/node-name.ts";
import type { TokenOrder } from "../auth/service-account.ts";
import type { Call } from "../http/call.ts";
import { IDENTITY } from "../join/identity.ts";
import type { Target } from "../resources/target.ts";
import type { Admit } from "./escalation.ts";

const IMAGE_LABEL = "storage.mooring.dev/image";
const GROUP = "storage.mooring.dev";

type Objects = { next: UnstructuredObject; old: UnstructuredObject | undefined };
/** Says why not; undefined: it may. */
type Check = (
  node: string,
  objects: Objects,
  context: { store: LocalStore; target: Target },
) => string | undefined;

const CHECKS: Readonly<Record<string, Check>> = {
  "/nodes": ownNode,
  "/pods": ownPod,
  "/secrets": (node, { next, old }) =>
    old === undefined && next.metadata.name !== logAccessName(node)
      ? "a node makes the Secret of its own logs only"
      : undefined,
  "/persistentvolumeclaims": () => undefined,
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

/** A node writes its own objects, and of others what concerns it. */
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

const same = (a: unknown, b: unknown) => JSON.stringify(a ?? null) === JSON.stringify(b ?? null);
const fields = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});

function unchangedSpec(next: UnstructuredObject, old: UnstructuredObject | undefined): string | undefined {
  return old !== undefined && same(next.spec, old.spec) ? undefined : "a node does not say what is wanted";
}

function ownName(node: string, { next }: Objects): string | undefined {
  return next.metadata.name === node
    ? undefined
    : `is not allowed to write the object of ${next.metadata.name}`;
}

function ownNode(node: string, { next, old }: Objects): string | undefined {
  const wrong = ownName(node, { next, old });
  if (wrong !== undefined) return wrong;
  const { annotations } = next.metadata;
  if (!same(annotations?.[IDENTITY], old?.metadata.annotations?.[IDENTITY]))
    return `is not allowed to change the annotation ${IDENTITY}`;
  if (old !== undefined && !same(fields(next.spec).taints ?? [], fields(old.spec).taints ?? []))
    return "is not allowed to modify taints";
  const label = Object.keys({ ...next.metadata.labels, ...old?.metadata.labels }).find(
    (key) =>
      key.includes("node-restriction.kubernetes.io/") &&
      !same(next.metadata.labels?.[key], old?.metadata.labels?.[key]),
  );
  return label === undefined ? undefined : `is not allowed to modify labels: ${label}`;
}

function ownPod(node: string, { next, old }: Objects): string | undefined {
  if (old === undefined) return "makes no pods";
  if (fields(old.spec).nodeName !== node) return "can only update pods with spec.nodeName set to itself";
  return same(next.metadata.labels, old.metadata.labels)
    ? undefined
    : "cannot update labels through pod status";
}

function ownLease(node: string, { next, old }: Objects): string | undefined {
  if (next.metadata.namespace === "kube-node-lease") return ownName(node, { next, old });
  const ofImage = (lease: UnstructuredObject) => lease.metadata.labels?.[IMAGE_LABEL] !== undefined;
  return next.metadata.namespace === "kube-system" && ofImage(next) && ofImage(old ?? next)
    ? undefined
    : "writes leases of images and its own only";
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
  { store }: { store: LocalStore },
): string | undefined {
  if (old === undefined || !same(next.spec, old.spec)) return "does not say what becomes of volumes";
  return concerns(old, node, store) ? undefined : "the volume is not on it";
}

function ownSnapshot(
  node: string,
  { next, old }: Objects,
  { store }: { store: LocalStore },
): string | undefined {
  const wrong = unchangedSpec(next, old);
  if (wrong !== undefined || old === undefined) return wrong;
  const { pool, volume } = fields(old.spec);
  const parent = typeof volume === "string" ? find(store, "Volume", volume) : undefined;
  const here = hasPool(pool, node, store) || (parent !== undefined && concerns(parent, node, store));
  return here ? undefined : "the snapshot is not on it";
}

function ownShare(node: string, { next, old }: Objects): string | undefined {
  const wrong = unchangedSpec(next, old);
  const here = fields(old?.spec).nodeID === node || fields(old?.status).nodeID === node;
  return wrong ?? (here ? undefined : "does not serve this volume");
}

/** The volume is, was last or is to be there, or in a pool that the node has open. */
function concerns(volume: UnstructuredObject, node: string, store: LocalStore): boolean {
  const [spec, status] = [fields(volume.spec), fields(volume.status)];
  const nodes = [spec.nodeID, spec.migrationNodeID, status.currentNodeID, status.ownerID];
  return nodes.includes(node) || hasPool(spec.pool, node, store);
}

function hasPool(name: unknown, node: string, store: LocalStore): boolean {
  const pool = typeof name === "string" ? find(store, "Pool", name) : undefined;
  if (pool === undefined) return false;
  const { nodes } = fields(pool.status);
  return fields(pool.spec).nodeID === node || (Array.isArray(nodes) && nodes.includes(node));
}

function find(store: LocalStore, kind: "Volume" | "Pool", name: string): UnstructuredObject | undefined {
  const plural = `${kind.toLowerCase()}s`;
  const resource: Resource = { group: GROUP, version: "v1alpha1", kind, plural, namespaced: false };
  try {
    return JSON.parse(store.getJson(resource, { name })) as UnstructuredObject;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** A node gets tokens for pods only that it runs, bound to them. Throws Forbidden. */
export async function requireOwnPod(
  { user }: Call,
  bound: TokenOrder["boundTo"],
  { store }: Api,
  namespace: string,
): Promise<void> {
  const node = nodeOf(user);
  if (node === undefined) return;
  const account = { group: "", plural: "serviceaccounts" };
  if (bound?.kind !== "Pod")
    throw forbidden(account, bound?.name ?? "", "node requested token not bound to a pod");
  const pod = await store.get(Pods, { namespace, name: bound.name });
  if (pod.spec?.nodeName !== node)
    throw forbidden(account, bound.name, "node requested token bound to a pod scheduled on a different node");
}
