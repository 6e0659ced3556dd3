import { badRequest } from "../object/errors.ts";
import type { KubeObject, UnstructuredObject } from "../object/meta.ts";
import { groupResource, type ObjectKey, type Resource } from "../object/resource.ts";
import { pathOf } from "./event.ts";
import type { ResourceDefinition } from "./registry.ts";
import { checkName } from "./rules/create.ts";

/** A key as a request has it. */
export interface Unchecked {
  namespace?: string | undefined;
  name: string;
}

/** Where the object of a request lies. */
export interface Located {
  definition: ResourceDefinition;
  resource: Resource;
  key: ObjectKey;
  path: string;
}

/** Throws Invalid for a name or a namespace that no object can have, BadRequest where a namespaced kind's is missing. */
export function locate(definition: ResourceDefinition, resource: Resource, key: Unchecked): Located {
  const checked = keyFor(definition, key.namespace, key.name);
  const path = pathOf(groupResource(resource), checked.namespace, checked.name);
  return { definition, resource, key: checked, path };
}

/** Throws BadRequest unless the object that is sent is the one that the request names. */
export function checkKey(at: Located, object: UnstructuredObject): void {
  const { name = at.key.name, namespace = at.key.namespace } = object.metadata;
  if (name !== at.key.name) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${at.key.name})`);
  }
  if (at.key.namespace !== undefined && namespace !== at.key.namespace) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
}

/** Plain JSON, the store's own: undefined fields are gone and nothing is shared with the caller. */
export function plain(object: KubeObject): UnstructuredObject {
  if (typeof object !== "object" || object === null) throw badRequest("the object is not a JSON object");
  const copy = JSON.parse(JSON.stringify(object)) as UnstructuredObject;
  copy.metadata ??= {} as UnstructuredObject["metadata"];
  return copy;
}

function keyFor(definition: ResourceDefinition, namespace: string | undefined, name: string): ObjectKey {
  checkName(definition.resource, name);
  if (!definition.resource.namespaced) return { name };
  if (namespace === undefined || namespace === "") {
    throw badRequest("an empty namespace may not be set when a namespaced object is named");
  }
  checkName(definition.resource, namespace);
  return { namespace, name };
}
