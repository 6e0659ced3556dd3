import { StatusError } from "@mooring/store";
import { canonicalJson, childSchema, isObject, type JsonObject, type Schema } from "../model.ts";
import { EMPTY, type FieldSet, LEAF, node, pathText, union } from "./field-set.ts";

/** How server-side apply treats a value: as one thing, as fields, or as a list whose elements have identities. */
type Shape = "scalar" | "atomic" | "fields" | "set" | "map";

/** How a value is merged: as one (`scalar`, `atomic`), by field, or by element (`set`, `map`). Lists are atomic unless their schema says otherwise. */
export function shapeOf(value: unknown, schema: Schema | undefined): Shape {
  if (Array.isArray(value)) {
    const listType = schema?.["x-kubernetes-list-type"];
    return listType === "set" || listType === "map" ? listType : "atomic";
  }
  if (isObject(value)) return schema?.["x-kubernetes-map-type"] === "atomic" ? "atomic" : "fields";
  return "scalar";
}

/** The identity of a list's element: `k:{"name":"c"}` or `v:"x"`. Keys that are absent have their defaults. */
export function elementOf(item: unknown, list: Schema | undefined): string {
  if (list?.["x-kubernetes-list-type"] === "set") return `v:${canonicalJson(item)}`;
  let text = "";
  for (const key of list === undefined ? [] : sortedKeys(list)) {
    const value = (isObject(item) ? item[key] : undefined) ?? list?.items?.properties?.[key]?.default;
    if (value === undefined) continue;
    text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${canonicalJson(value)}`;
  }
  return `k:{${text}}`;
}

/** Asked for each element of each list, several times. */
const keysOf = new WeakMap<Schema, readonly string[]>();

function sortedKeys(list: Schema): readonly string[] {
  const known = keysOf.get(list);
  if (known !== undefined) return known;
  const keys = [...(list["x-kubernetes-list-map-keys"] ?? [])].sort();
  keysOf.set(list, keys);
  return keys;
}

/** The paths that a value consists of: its leaves, and every element of a keyed list. */
export function fieldSetOf(value: unknown, schema: Schema | undefined): FieldSet {
  switch (shapeOf(value, schema)) {
    case "fields": {
      const entries = Object.entries(value as JsonObject).filter(([, item]) => item !== undefined);
      if (entries.length === 0) return LEAF;
      return node(
        false,
        entries.map(([field, item]) => [`f:${field}`, fieldSetOf(item, childSchema(schema, field))] as const),
      );
    }
    case "set":
      return listSet(value as unknown[], () => LEAF, schema);
    case "map":
      return listSet(value as unknown[], (item) => withItself(fieldSetOf(item, schema?.items)), schema);
    default:
      return LEAF;
  }
}

function withItself({ children }: FieldSet): FieldSet {
  return children.size === 0 ? LEAF : { member: true, children };
}

function listSet(list: unknown[], of: (item: unknown) => FieldSet, schema: Schema | undefined): FieldSet {
  return list.length === 0 ? LEAF : node(false, elementSets(list, of, schema));
}

/** The fields of each element of a list; of elements that have the same identity, those of all of them. */
export function elementSets(
  list: unknown[],
  of: (item: unknown) => FieldSet,
  schema: Schema | undefined,
): ReadonlyMap<string, FieldSet> {
  const sets = new Map<string, FieldSet>();
  for (const item of list) {
    const element = elementOf(item, schema);
    sets.set(element, union(sets.get(element) ?? EMPTY, of(item)));
  }
  return sets;
}

/**
 * Refuses what cannot be applied: fields that the schema does not know, and keyed lists with elements that have no
 * key or the same one. `what` begins the message: `failed to create typed patch object (...)`.
 */
export function checkTyped(value: unknown, schema: Schema, what: string): void {
  const problem = typedProblem(value, schema, []);
  if (problem !== undefined) throw new StatusError("BadRequest", `${what}: ${problem}`);
}

function typedProblem(
  value: unknown,
  schema: Schema | undefined,
  path: readonly string[],
): string | undefined {
  if (schema === undefined) return undefined;
  if (isObject(value)) {
    const open =
      schema["x-kubernetes-preserve-unknown-fields"] === true ||
      schema["x-kubernetes-embedded-resource"] === true ||
      schema.additionalProperties !== undefined ||
      schema.type !== "object";
    for (const [field, item] of Object.entries(value)) {
      const child = childSchema(schema, field);
      const at = [...path, `f:${field}`];
      if (child === undefined && !open) return `${pathText(at)}: field not declared in schema`;
      const below = typedProblem(item, child, at);
      if (below !== undefined) return below;
    }
  } else if (Array.isArray(value)) {
    return listProblem(value, schema, path);
  }
  return undefined;
}

function listProblem(list: unknown[], schema: Schema, path: readonly string[]): string | undefined {
  const shape = shapeOf(list, schema);
  const seen = new Set<string>();
  for (const [i, item] of list.entries()) {
    const element = shape === "atomic" ? `i:${i}` : elementOf(item, schema);
    const missing = (schema["x-kubernetes-list-map-keys"] ?? []).find(
      (key) => shape === "map" && !element.includes(JSON.stringify(key)),
    );
    if (missing !== undefined) {
      return `${pathText(path)}: element ${i}: associative list with keys has an element that omits key field ${JSON.stringify(missing)} (and doesn't have default value)`;
    }
    if (seen.has(element)) return `${pathText(path)}: duplicate entries for key ${pathText([element])}`;
    seen.add(element);
    const below = typedProblem(item, schema.items, [...path, element]);
    if (below !== undefined) return below;
  }
  return undefined;
}
