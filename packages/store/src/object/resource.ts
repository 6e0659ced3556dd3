import type { KubeObject } from "./meta.ts";

/**
 * What a store has to know to find the objects of one kind: the coordinates of a REST collection.
 * The type parameter is the shape of one object; it exists at compile time only.
 */
export interface Resource<T extends KubeObject = KubeObject> {
  /** API group; the empty string is the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Lower case, as in URLs: `persistentvolumeclaims`. */
  readonly plural: string;
  readonly namespaced: boolean;
  /** The objects carry data of a foreign shape, in which a null may mean something: it is handed out as it is. */
  readonly custom?: boolean;
  /** Never set at run time; carries `T`. */
  readonly __object?: T;
}

/** Declares a resource: `defineResource<Pod>({ group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true })`. */
export function defineResource<T extends KubeObject>({
  group,
  version,
  kind,
  plural,
  namespaced,
}: {
  group: string;
  version: string;
  kind: string;
  plural: string;
  namespaced: boolean;
}): Resource<T> {
  return { group, version, kind, plural, namespaced };
}

/** `v1` or `storage.k8s.io/v1`. */
export function apiVersionOf(resource: Pick<Resource, "group" | "version">): string {
  return resource.group === "" ? resource.version : `${resource.group}/${resource.version}`;
}

/** `persistentvolumeclaims` or `storageclasses.storage.k8s.io`: the same for all versions of a kind. */
export function groupResource(resource: Pick<Resource, "group" | "plural">): string {
  return resource.group === "" ? resource.plural : `${resource.plural}.${resource.group}`;
}

/** Where one object of a known resource is. `namespace` is absent exactly when the resource is cluster scoped. */
export interface ObjectKey {
  namespace?: string;
  name: string;
}

/** `namespace/name`, or `name` for cluster-scoped objects: the key of caches and work queues. */
export function keyOf(object: { metadata: { namespace?: string; name: string } }): string {
  const { namespace, name } = object.metadata;
  return namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;
}

/** The reverse of {@link keyOf}. */
export function parseKey(key: string): ObjectKey {
  const slash = key.indexOf("/");
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
