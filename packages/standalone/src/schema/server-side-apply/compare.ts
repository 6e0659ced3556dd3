import { childSchema, isObject, type JsonObject, jsonEqual, type Schema } from "../model.ts";
import { EMPTY, type FieldSet, LEAF, node } from "./field-set.ts";
import { elementOf, elementSets, shapeOf } from "./typed.ts";

/** Which paths differ between two values. */
export interface Comparison {
  added: FieldSet;
  modified: FieldSet;
  removed: FieldSet;
}

const SAME: Comparison = { added: EMPTY, modified: EMPTY, removed: EMPTY };

/** Which fields a change adds, modifies and removes, as managed fields count them: an atomic list or map is one field. */
export function compareValues(old: unknown, next: unknown, schema: Schema | undefined): Comparison {
  if (old === next) return SAME;
  if (old === undefined) return { ...SAME, added: everything(next, schema) };
  if (next === undefined) return { ...SAME, removed: everything(old, schema) };
  const shape = shapeOf(next, schema);
  if (shape !== shapeOf(old, schema) || shape === "scalar" || shape === "atomic") {
    return jsonEqual(old, next) ? SAME : { ...SAME, modified: LEAF };
  }
  if (shape === "fields") return compareFields(old, next, schema);
  return compareLists(old as unknown[], next as unknown[], schema);
}

/** Like the leaves of a value, and every container on the way to them. */
function everything(value: unknown, schema: Schema | undefined): FieldSet {
  const shape = shapeOf(value, schema);
  if (shape === "fields") {
    const entries = Object.entries(value as JsonObject).filter(([, item]) => item !== undefined);
    return node(
      true,
      entries.map(([field, item]) => [`f:${field}`, everything(item, childSchema(schema, field))] as const),
    );
  }
  if (shape === "set" || shape === "map") {
    const of = (item: unknown) => (shape === "set" ? LEAF : everything(item, schema?.items));
    return node(true, elementSets(value as unknown[], of, schema));
  }
  return LEAF;
}

function compareFields(old: unknown, next: unknown, schema: Schema | undefined): Comparison {
  const [before, after] = [isObject(old) ? old : {}, isObject(next) ? next : {}];
  const fields = new Set([...Object.keys(before), ...Object.keys(after)]);
  return combine(
    [...fields].map((field) => [
      `f:${field}`,
      compareValues(before[field], after[field], childSchema(schema, field)),
    ]),
  );
}

function compareLists(old: unknown[], next: unknown[], schema: Schema | undefined): Comparison {
  const before = new Map(old.map((item) => [elementOf(item, schema), item]));
  const after = new Map(next.map((item) => [elementOf(item, schema), item]));
  const elements = new Set([...before.keys(), ...after.keys()]);
  const isSet = schema?.["x-kubernetes-list-type"] === "set";
  return combine(
    [...elements].map((element) => [
      element,
      isSet
        ? compareMembership(before.has(element), after.has(element))
        : compareValues(before.get(element), after.get(element), schema?.items),
    ]),
  );
}

function compareMembership(before: boolean, after: boolean): Comparison {
  if (before === after) return SAME;
  return after ? { ...SAME, added: LEAF } : { ...SAME, removed: LEAF };
}

function combine(parts: readonly (readonly [string, Comparison])[]): Comparison {
  const changed = parts.filter(([, comparison]) => comparison !== SAME);
  if (changed.length === 0) return SAME;
  const of = (side: keyof Comparison) =>
    node(
      false,
      changed.map(([element, comparison]) => [element, comparison[side]] as const),
    );
  return { added: of("added"), modified: of("modified"), removed: of("removed") };
}
