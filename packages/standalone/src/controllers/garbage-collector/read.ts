import { getIfAny, type KubeObject, type ObjectStore } from "@mooring/store";
import type { View } from "./decide.ts";
import type { ForeignReports } from "./foreign-reports.ts";
import type { GraphNode } from "./graph.ts";
import { identityOf, objectKey, ownersOf } from "./identity.ts";
import { isForeign, type OwnerLookup, ownerState } from "./owners.ts";

/** An object as it is now, and what is known of its owners and dependents. */
export interface CollectorView extends View {
  node: GraphNode;
}

/**
 * Reads the store past the reader, which could not record every kind there is: the graph finds the keys that a change
 * affects.
 */
export async function readObject(
  uid: string,
  lookup: OwnerLookup & { reported: ForeignReports },
): Promise<CollectorView | undefined> {
  const { graph, reported, signal, store } = lookup;
  const known = graph.get(uid);
  const node = known === undefined ? undefined : await readAgain(known, store, signal);
  if (node === undefined) return undefined;
  const { object } = node;
  const references = object.metadata.deletionTimestamp === undefined ? ownersOf(object) : [];
  const owners = await Promise.all(references.map((reference) => ownerState(object, reference, lookup)));
  const foreign = references.filter(
    (reference) => isForeign(object, reference, lookup) && !reported.has(uid, reference.uid),
  );
  const dependents = graph.dependentsOf(uid).map((dependent) => dependent.object);
  return { node, object, owners, dependents, foreign };
}

/** The object as it is now; undefined when it is gone or another one has its name. */
async function readAgain(
  { resource, object }: GraphNode,
  store: ObjectStore,
  signal: AbortSignal,
): Promise<GraphNode | undefined> {
  const current = await getIfAny<KubeObject>(store, resource, objectKey(object), signal);
  if (current === undefined || current.metadata.uid !== object.metadata.uid) return undefined;
  return { resource, object: identityOf(current) };
}
