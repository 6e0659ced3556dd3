import { badRequest } from "../object/errors.ts";
import type { ObjectKey, Resource } from "../object/resource.ts";

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** `/apis/storage.k8s.io/v1/storageclasses`; with a namespace where the kind has one and the request names it. */
export function collectionPath(resource: Resource, namespace: string | undefined): string {
  const { group, version, plural, namespaced } = resource;
  const api = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const within = namespaced && namespace ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${api}${within}/${plural}`;
}

/** Throws BadRequest for keys that would name something else. */
export function objectPath(resource: Resource, key: ObjectKey, subresource?: string): string {
  if (!key.name || key.name === "." || key.name === "..") throw badRequest("resource name may not be empty");
  if (resource.namespaced && !key.namespace) {
    throw badRequest("an empty namespace may not be set when a namespaced object is named");
  }
  const path = `${collectionPath(resource, key.namespace)}/${encodeURIComponent(key.name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** The path with the parameters that have a value. */
export function withQuery(path: string, query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text === "" ? path : `${path}?${text}`;
}
