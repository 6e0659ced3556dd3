import { StatusError } from "@mooring/store";
import { canonicalJson, childSchema, clone, isObject, type JsonObject, type Schema } from "../model.ts";
import { elementKey, mergeObjectList, mergePrimitiveList, orderList } from "./lists.ts";

const DIRECTIVE = "$patch";
const RETAIN_KEYS = "$retainKeys";
const ORDER = "$setElementOrder/";
const DELETE_PRIMITIVES = "$deleteFromPrimitiveList/";

function malformed(message: string): StatusError {
  return new StatusError("BadRequest", message);
}

/**
 * A strategic merge patch: objects are merged, nulls delete, lists are replaced unless the schema has a merge key
 * (objects) or the merge strategy (primitives). Neither argument is changed.
 */
export function strategicMerge(
  current: JsonObject,
  patch: JsonObject,
  schema: Schema | undefined,
): JsonObject {
  const directive = patch[DIRECTIVE];
  if (directive === "replace") return without(patch, DIRECTIVE);
  if (directive === "delete") return {};
  if (directive !== undefined && directive !== "merge")
    throw malformed(`Unknown patch type found: ${String(directive)}`);
  const result = retained(current, patch);
  for (const [field, value] of Object.entries(patch)) {
    if (field === DIRECTIVE || field === RETAIN_KEYS || field.startsWith(ORDER)) continue;
    if (field.startsWith(DELETE_PRIMITIVES))
      deletePrimitives(result, field.slice(DELETE_PRIMITIVES.length), value);
    else mergeField(result, field, value, childSchema(schema, field));
  }
  for (const [field, value] of Object.entries(patch)) {
    if (field.startsWith(ORDER))
      setOrder(result, current, { field: field.slice(ORDER.length), order: value }, schema);
  }
  return result;
}

/** `$retainKeys` lists the fields that stay: how one member of a union takes the place of another. */
function retained(current: JsonObject, patch: JsonObject): JsonObject {
  const keys = patch[RETAIN_KEYS];
  const copy = clone(current);
  if (keys === undefined) return copy;
  if (!Array.isArray(keys)) throw malformed("invalid retainKeys directive: expected a list");
  const kept = new Set<unknown>(keys);
  for (const field of Object.keys(copy)) if (!kept.has(field)) delete copy[field];
  return copy;
}

function mergeField(result: JsonObject, field: string, value: unknown, schema: Schema | undefined): void {
  const present = result[field];
  if (value === null) delete result[field];
  else if (isObject(value)) {
    const replace = schema?.["x-kubernetes-patch-strategy"] === "replace";
    const merged = strategicMerge(isObject(present) && !replace ? present : {}, value, schema);
    // A deleted struct leaves nothing behind, and none appears where there was none.
    if (value[DIRECTIVE] === "delete") delete result[field];
    else result[field] = merged;
  } else if (Array.isArray(value)) {
    result[field] = mergeList(Array.isArray(present) ? present : [], value, schema);
  } else result[field] = value;
}

function mergeList(current: unknown[], patch: unknown[], schema: Schema | undefined): unknown[] {
  const replacement = patch.filter((item) => !(isObject(item) && item[DIRECTIVE] === "replace"));
  const strategy = schema?.["x-kubernetes-patch-strategy"]?.split(",") ?? [];
  if (!strategy.includes("merge") || replacement.length < patch.length) return replacement.map(stripped);
  const key = schema?.["x-kubernetes-patch-merge-key"];
  if (key === undefined) return mergePrimitiveList(current, patch);
  return mergeObjectList(current, patch, key, {
    isDeletion: (item) => item[DIRECTIVE] === "delete",
    merge: (old, item) => strategicMerge(old, item, schema?.items),
  });
}

/** Patch items that become list items as they are: without directives and nulls. */
function stripped(item: unknown): unknown {
  return isObject(item) ? strategicMerge({}, item, undefined) : clone(item);
}

function deletePrimitives(result: JsonObject, field: string, values: unknown): void {
  const present = result[field];
  if (!Array.isArray(values)) throw malformed("invalid deleteFromPrimitiveList directive: expected a list");
  const deleted = new Set(values.map((value) => canonicalJson(value)));
  if (Array.isArray(present)) result[field] = present.filter((item) => !deleted.has(canonicalJson(item)));
}

function setOrder(
  result: JsonObject,
  current: JsonObject,
  { field, order }: { field: string; order: unknown },
  schema: Schema | undefined,
): void {
  const list = result[field];
  if (!Array.isArray(order)) throw malformed("invalid setElementOrder directive: expected a list");
  if (!Array.isArray(list)) return;
  const mergeKey = childSchema(schema, field)?.["x-kubernetes-patch-merge-key"];
  const before = current[field];
  result[field] = orderList(
    list,
    order.map((item) => elementKey(item, mergeKey)),
    (Array.isArray(before) ? before : []).map((item) => elementKey(item, mergeKey)),
    mergeKey,
  );
}

function without(object: JsonObject, field: string): JsonObject {
  const copy = clone(object);
  delete copy[field];
  return copy;
}
