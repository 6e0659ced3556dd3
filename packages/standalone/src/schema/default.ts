import { childSchema, clone, isObject, type Schema } from "./model.ts";

const cache = new WeakMap<Schema, boolean>();

/** True when a default is anywhere below; walks stop where there is none. */
function hasDefaults(schema: Schema): boolean {
  const known = cache.get(schema);
  if (known !== undefined) return known;
  cache.set(schema, false); // a recursive type asks again while its own result is not there yet
  const children = [
    ...Object.values(schema.properties ?? {}),
    ...(schema.items === undefined ? [] : [schema.items]),
    ...(typeof schema.additionalProperties === "object" ? [schema.additionalProperties] : []),
  ];
  const result = children.some((child) => child.default !== undefined || hasDefaults(child));
  cache.set(schema, result);
  return result;
}

/**
 * Structural defaulting, in place: absent fields get their default, and so do nulls where null is not allowed.
 * Defaults apply within objects that are there, never to absent parents without a default of their own.
 */
export function applyDefaults(value: unknown, schema: Schema): void {
  if (!hasDefaults(schema)) return;
  if (Array.isArray(value)) {
    if (schema.items !== undefined) for (const item of value) applyDefaults(item, schema.items);
    return;
  }
  if (!isObject(value)) return;
  for (const [field, child] of Object.entries(schema.properties ?? {})) {
    const present = value[field];
    if (
      child.default !== undefined &&
      (present === undefined || (present === null && child.nullable !== true))
    ) {
      value[field] = clone(child.default);
    }
  }
  for (const [field, item] of Object.entries(value)) {
    const child = childSchema(schema, field);
    if (child !== undefined) applyDefaults(item, child);
  }
}

/** Removes nulls, in place, as decoding into Go types does for built-in kinds. */
export function dropNulls(value: unknown): void {
  if (Array.isArray(value)) {
    for (const item of value) dropNulls(item);
  } else if (isObject(value)) {
    for (const [field, item] of Object.entries(value)) {
      if (item === null || item === undefined) delete value[field];
      else dropNulls(item);
    }
  }
}

/** Custom resources: a null is removed, in place, where the schema declares the field and does not allow null. */
export function dropForbiddenNulls(value: unknown, schema: Schema): void {
  if (Array.isArray(value)) {
    if (schema.items !== undefined) for (const item of value) dropForbiddenNulls(item, schema.items);
  } else if (isObject(value)) {
    for (const [field, item] of Object.entries(value)) {
      const child = childSchema(schema, field);
      if (child === undefined) continue;
      if (item === null && child.nullable !== true) delete value[field];
      else dropForbiddenNulls(item, child);
    }
  }
}
