import { childSchema, isObject, type JsonObject, type Schema } from "./model.ts";
import { fieldPath } from "./validate.ts";

/** Always known in embedded resources and at the root of a custom resource. */
const ENVELOPE: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"]);

/**
 * Removes every field that the schema does not declare, in place. `onUnknown` gets their paths, in document order.
 * Pruning twice is the same as pruning once.
 */
export function prune(value: unknown, schema: Schema, onUnknown?: (path: string) => void, path = ""): void {
  walk(value, schema, path, (object, field, at) => {
    delete object[field];
    onUnknown?.(at);
  });
}

/** Paths of the fields that {@link prune} would remove: the "unknown fields" of field validation. */
export function unknownFields(value: unknown, schema: Schema): string[] {
  const paths: string[] = [];
  walk(value, schema, "", (_object, _field, at) => paths.push(at));
  return paths;
}

function walk(
  value: unknown,
  schema: Schema,
  path: string,
  onUnknown: (object: JsonObject, field: string, path: string) => void,
): void {
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items === undefined) return;
    for (const [i, item] of value.entries()) walk(item, items, `${path}[${i}]`, onUnknown);
    return;
  }
  if (!isObject(value)) return;
  const open =
    schema["x-kubernetes-preserve-unknown-fields"] === true || schema.additionalProperties === true;
  for (const [field, item] of Object.entries(value)) {
    if (schema["x-kubernetes-embedded-resource"] === true && ENVELOPE.has(field)) continue;
    const child = childSchema(schema, field);
    const at = fieldPath(path, schema, field);
    if (child !== undefined) walk(item, child, at, onUnknown);
    else if (!open) onUnknown(value, field, at);
  }
}
