import { isDeepStrictEqual } from "node:util";
import { ENGINE_FINALIZER, isFencedNode, type NodeAgent, NodeAgents, Pools, Volumes } from "@mooring/engine";
import { isNotFound, type JsonStore, type Resource, type UnstructuredObject } from "@mooring/store";
import { fields, type Objects, ownName, same } from "./node-objects.ts";

/*
 * What a node writes of the engine's objects. The same for a node of a cluster, where the API server does not know these
 * kinds, is in deploy/chart/templates/node-admission.yaml.
 */

const IMAGE_LABEL = "storage.mooring.dev/image";
/** The node that has an image: no node makes another one that. */
const HOLDERS = ["currentNodeID", "currentMigrationNodeID", "ownerID"];

interface Context {
  store: JsonStore;
}

/** Why not, when the write changes more than metadata and status. */
function unchangedSpec({ next, old }: Objects): string | undefined {
  return old !== undefined && same(next.spec, old.spec) ? undefined : "a node does not say what is wanted";
}

/**
 * Why not, when the write decides how long an object that is there lives: by an owner that is not there the garbage collector
 * deletes what the node may not, and by a finalizer nobody does. The agent's own finalizer is its to set.
 */
function changesLife({ next, old }: Objects): string | undefined {
  if (old === undefined) return undefined;
  const [after, before] = [next.metadata, old.metadata];
  const others = (finalizers: readonly string[] = []) =>
    finalizers.filter((each) => each !== ENGINE_FINALIZER);
  return same(after.ownerReferences ?? [], before.ownerReferences ?? []) &&
    same(others(after.finalizers), others(before.finalizers))
    ? undefined
    : "does not say whose an object is, nor what keeps it";
}

/**
 * Why not, when the pool is another node's. What a shared one is holds for all of its nodes: whoever makes it says it, and then
 * an administrator; a node says only of itself that it has it.
 */
export function ownPool(node: string, objects: Objects): string | undefined {
  const { next, old } = objects;
  for (const { spec } of old === undefined ? [next] : [old, next]) {
    const owner = fields(spec).nodeID;
    if (owner !== undefined && owner !== node) return `is not allowed to write the pool of ${String(owner)}`;
  }
  const shared = old !== undefined && fields(old.spec).nodeID === undefined;
  if (shared && !isDeepStrictEqual(next.spec, old.spec))
    return `does not change a pool that others have as well: change it on the machine of the API server, or with kubectl edit pool ${next.metadata.name}`;
  const wrong = changesLife(objects);
  if (wrong !== undefined) return wrong;
  const others = (pool: UnstructuredObject | undefined) => nodesOf(pool).filter((each) => each !== node);
  return same(others(next), others(old)) ? undefined : "does not say which other nodes have a pool";
}

/** Why not, when the volume is another node's, or would be made to be. */
export function ownVolume(node: string, objects: Objects, { store }: Context): string | undefined {
  const { next, old } = objects;
  if (old === undefined || !same(next.spec, old.spec)) return "does not say what becomes of volumes";
  // Each node that uses a shared volume notes that it has mounted it anew, whichever node has it.
  if (same(withoutOwn(node, "remounted", next), withoutOwn(node, "remounted", old))) return undefined;
  if (!isRelated(old, node, store)) return "the volume is not on it";
  return wrongHolder(node, objects, store) ?? changesLife(objects);
}

/** Why not, when the snapshot is another node's, or would be made to be. */
export function ownSnapshot(node: string, objects: Objects, { store }: Context): string | undefined {
  const wrong = unchangedSpec(objects);
  const { old } = objects;
  if (wrong !== undefined || old === undefined) return wrong;
  const { pool, volume } = fields(old.spec);
  const parent = typeof volume === "string" ? find(store, Volumes, volume) : undefined;
  const here = hasPool(pool, node, store) || (parent !== undefined && isRelated(parent, node, store));
  return here ? (wrongHolder(node, objects, store) ?? changesLife(objects)) : "the snapshot is not on it";
}

/** Why not, when a node reports more of a group snapshot than its own part of the barrier. */
export function ownBarrier(node: string, objects: Objects): string | undefined {
  const [next, old] = [objects.next, objects.old].map((group) => withoutOwn(node, "nodes", group));
  const wrong = unchangedSpec(objects);
  if (wrong !== undefined) return wrong;
  return same(next, old) ? undefined : "reports its own part of a barrier only";
}

/** All that a write may have changed, but for the node's own entry of a map in the status. */
function withoutOwn(node: string, map: "nodes" | "remounted", object: UnstructuredObject | undefined) {
  const { [map]: entries, ...status } = fields(object?.status);
  const { [node]: _own, ...others } = fields(entries);
  const { finalizers, ownerReferences, labels, annotations } = object?.metadata ?? {};
  return [status, others, finalizers ?? [], ownerReferences ?? [], labels ?? {}, annotations ?? {}];
}

/** Why not, when another node serves the volume. */
export function ownShare(node: string, objects: Objects): string | undefined {
  const { old } = objects;
  const here = fields(old?.spec).nodeID === node || fields(old?.status).nodeID === node;
  return unchangedSpec(objects) ?? (here ? changesLife(objects) : "does not serve this volume");
}

/** Why not, when the lease is neither the node's own nor that of an image of a pool that it has. */
export function ownLease(node: string, { next, old }: Objects, { store }: Context): string | undefined {
  if (next.metadata.namespace === "kube-node-lease") return ownName(node, { next, old });
  const images = [next, old ?? next].map(({ metadata }) => metadata.labels?.[IMAGE_LABEL]);
  const [image] = images;
  const isImages =
    image !== undefined && images[1] === image && next.metadata.name === `mooring-image-${image}`;
  if (next.metadata.namespace !== "kube-system" || !isImages)
    return "writes leases of images and its own only";
  const volume = find(store, Volumes, image);
  // The node that finds what is left of an image whose volume is gone removes it.
  if (volume === undefined && old !== undefined) return undefined;
  return hasPool(fields(volume?.spec).pool, node, store) ? undefined : "does not have the pool of this image";
}

/**
 * Why not: another node has the image and was not found to be lost, or the write makes another node have it. Who is to get
 * it, or has a part of it, writes it as it is.
 */
function wrongHolder(node: string, { next, old }: Objects, store: JsonStore): string | undefined {
  const [spec, before, after] = [fields(old?.spec), fields(old?.status), fields(next.status)];
  const made = HOLDERS.find(
    (field) => !["", node, before[field] ?? ""].includes((after[field] ?? "") as string),
  );
  if (made !== undefined) return `only itself may a node write as status.${made}`;
  const holders = HOLDERS.map((field) => before[field]).filter(
    (each) => typeof each === "string" && each !== "",
  );
  const affected = [spec.nodeID, spec.migrationNodeID, ...holders].includes(node);
  if (affected || (before.ownerID ?? "") === "") return undefined;
  const alive = holders.find((each) => !isLost(String(each), store));
  return alive === undefined ? undefined : `it is on node ${String(alive)}, which is not fenced`;
}

/** A node that is gone delays no other. */
function isLost(name: string, store: JsonStore): boolean {
  const agent = find(store, NodeAgents, name);
  return agent === undefined || isFencedNode(agent as unknown as NodeAgent);
}

/** The volume is, was last or is to be there, or in a pool that the node has open. */
function isRelated(volume: UnstructuredObject, node: string, store: JsonStore): boolean {
  const [spec, status] = [fields(volume.spec), fields(volume.status)];
  const nodes = [spec.nodeID, spec.migrationNodeID, status.currentNodeID, status.ownerID];
  return nodes.includes(node) || hasPool(spec.pool, node, store);
}

function hasPool(name: unknown, node: string, store: JsonStore): boolean {
  const pool = typeof name === "string" ? find(store, Pools, name) : undefined;
  return pool !== undefined && (fields(pool.spec).nodeID === node || nodesOf(pool).includes(node));
}

function nodesOf(pool: UnstructuredObject | undefined): unknown[] {
  const { nodes } = fields(pool?.status);
  return Array.isArray(nodes) ? nodes : [];
}

function find(
  store: JsonStore,
  resource: Pick<Resource, "group" | "version" | "kind" | "plural" | "namespaced">,
  name: string,
): UnstructuredObject | undefined {
  try {
    return JSON.parse(store.getJson(resource as Resource, { name })) as UnstructuredObject;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
