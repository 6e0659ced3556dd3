import {
  getIfAny,
  type KubeObject,
  type ObjectStore,
  type OwnerReference,
  type Resource,
} from "@mooring/store";
import type { KindInfo, KindRegistry } from "../../kinds/kind-info.ts";
import type { OwnerState } from "./decide.ts";
import type { OwnerGraph } from "./graph.ts";
import { FOREGROUND, type Identity, isDeletingWith } from "./identity.ts";

/** Where owners are found: the graph first, then the server. */
export interface OwnerLookup {
  store: ObjectStore;
  kinds: KindRegistry;
  graph: OwnerGraph;
  signal: AbortSignal;
}

/** Asks the store, not the graph: what a watch has not delivered yet must not cost an object. */
export async function ownerState(
  object: Identity,
  reference: OwnerReference,
  lookup: OwnerLookup,
): Promise<OwnerState> {
  const kind = kindOf(lookup.kinds, reference);
  if (kind === undefined || isForeign(object, reference, lookup)) return "unresolvable";
  const { namespace } = object.metadata;
  const owner = await read(lookup, kind.resource, reference, namespace);
  if (owner === undefined || owner.metadata.uid !== reference.uid) return "absent";
  return isDeletingWith(owner, FOREGROUND) ? "waiting" : "solid";
}

/** The reference crosses a namespace. */
export function isForeign(object: Identity, reference: OwnerReference, lookup: OwnerLookup): boolean {
  if (kindOf(lookup.kinds, reference)?.resource.namespaced !== true) return false;
  const { namespace } = object.metadata;
  const known = lookup.graph.get(reference.uid)?.object.metadata;
  return namespace === undefined || (known !== undefined && known.namespace !== namespace);
}

async function read(
  { store, signal }: OwnerLookup,
  resource: Resource,
  { name }: OwnerReference,
  namespace: string | undefined,
): Promise<KubeObject | undefined> {
  const inNamespace = resource.namespaced && namespace !== undefined ? { namespace } : {};
  return getIfAny<KubeObject>(store, resource, { ...inNamespace, name }, signal);
}

/** The kind that a reference names in any of its versions, served or not: references outlive versions. */
function kindOf(kinds: KindRegistry, { apiVersion, kind }: OwnerReference): KindInfo | undefined {
  const group = apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
  return kinds.all().find(({ resource }) => resource.group === group && resource.kind === kind);
}
