import { isObject, jsonEqual, type Schema } from "../model.ts";

/**
 * The element of the old list that `item` replaces. Only lists of type map have one: elements of other lists
 * have no identity, so that transition rules below them never run.
 */
export function correlate(old: unknown, item: unknown, schema: Schema): unknown {
  if (!Array.isArray(old) || !isObject(item) || schema["x-kubernetes-list-type"] !== "map") return undefined;
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  return old.find((other) => isObject(other) && keys.every((key) => jsonEqual(other[key], item[key])));
}
