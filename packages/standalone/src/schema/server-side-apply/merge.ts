import { childSchema, clone, isObject, type JsonObject, type Schema } from "../model.ts";
import { EMPTY, type FieldSet } from "./field-set.ts";
import { elementOf, shapeOf } from "./typed.ts";

/** `live` with everything that `applied` has. Neither is changed. */
export function mergeApplied(live: unknown, applied: unknown, schema: Schema | undefined): unknown {
  const shape = shapeOf(applied, schema);
  if (shape === "fields" && isObject(live)) return mergeFields(live, applied as JsonObject, schema);
  if (shape === "set" && Array.isArray(live))
    return mergeList(live, applied as unknown[], schema, (_old, item) => item);
  if (shape === "map" && Array.isArray(live)) {
    return mergeList(live, applied as unknown[], schema, (old, item) =>
      mergeApplied(old, item, schema?.items),
    );
  }
  return clone(applied);
}

function mergeFields(live: JsonObject, applied: JsonObject, schema: Schema | undefined): JsonObject {
  const isApplied = (field: string) => Object.hasOwn(applied, field) && applied[field] !== undefined;
  const merge = (field: string) => mergeApplied(live[field], applied[field], childSchema(schema, field));
  const result: JsonObject = {};
  for (const field of Object.keys(live)) result[field] = isApplied(field) ? merge(field) : clone(live[field]);
  for (const field of Object.keys(applied))
    if (isApplied(field) && !Object.hasOwn(live, field)) result[field] = merge(field);
  return result;
}

/** The applied elements in their order; elements that only the live list has keep their place among them. */
function mergeList(
  live: unknown[],
  applied: unknown[],
  schema: Schema | undefined,
  merge: (old: unknown, item: unknown) => unknown,
): unknown[] {
  const rest = live.map((item) => ({ item, element: elementOf(item, schema) }));
  const before = new Map(rest.map(({ item, element }) => [element, item]));
  const elements = applied.map((item) => elementOf(item, schema));
  const wanted = new Set(elements);
  /** Where elements of the same identity are in it that have not been merged. */
  const places = new Map<string, number[]>();
  for (const [at, { element }] of rest.entries()) {
    const namesakes = places.get(element);
    if (namesakes === undefined) places.set(element, [at]);
    else namesakes.push(at);
  }
  const merged = new Set<number>();
  const result: unknown[] = [];
  let from = 0;
  const takeForeign = () => {
    for (let next = rest[from]; next !== undefined; next = rest[++from]) {
      if (merged.has(from)) continue;
      if (wanted.has(next.element)) return;
      result.push(clone(next.item));
    }
  };
  for (const [index, item] of applied.entries()) {
    takeForeign();
    const element = elements[index] ?? "";
    const old = before.get(element);
    result.push(old === undefined ? clone(item) : merge(old, item));
    const at = places.get(element)?.shift();
    if (at !== undefined) merged.add(at);
  }
  takeForeign();
  return result;
}

/**
 * `value` without the paths of `set` and all that is below them; undefined when nothing is left of it, unless `kept`
 * has the empty rest.
 */
export function removePaths(
  value: unknown,
  set: FieldSet,
  schema: Schema | undefined,
  kept: FieldSet = EMPTY,
): unknown {
  const shape = shapeOf(value, schema);
  if (shape === "fields") {
    const before = Object.entries(value as JsonObject);
    const after = before.flatMap(([field, item]) => {
      const left = removeElement(item, `f:${field}`, { set, schema: childSchema(schema, field), kept });
      return left === undefined ? [] : [[field, left] as const];
    });
    return after.length === 0 && before.length > 0 && !kept.member ? undefined : Object.fromEntries(after);
  }
  if (shape === "set" || shape === "map") {
    const before = value as unknown[];
    const after = before.flatMap((item) => {
      const left = removeElement(item, elementOf(item, schema), { set, schema: schema?.items, kept });
      return left === undefined ? [] : [left];
    });
    return after.length === 0 && before.length > 0 && !kept.member ? undefined : after;
  }
  return value;
}

function removeElement(
  value: unknown,
  element: string,
  { set, schema, kept }: { set: FieldSet; schema: Schema | undefined; kept: FieldSet },
): unknown {
  const below = set.children.get(element);
  if (below === undefined) return value;
  return below.member ? undefined : removePaths(value, below, schema, kept.children.get(element));
}
