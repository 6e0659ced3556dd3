import { StatusError } from "@mooring/store";
import { canonicalJson, isObject, type JsonObject } from "../model.ts";

/** What identifies an element of a merged list: its merge key, or the primitive itself. */
export function elementKey(item: unknown, mergeKey: string | undefined): string {
  return canonicalJson(mergeKey !== undefined && isObject(item) ? item[mergeKey] : item);
}

/** A strategic merge of a list of scalars: what is new comes last, nothing is there twice. */
export function mergePrimitiveList(current: readonly unknown[], patch: readonly unknown[]): unknown[] {
  return [...new Set([...current, ...patch])];
}

interface ObjectListRules {
  /** The item only deletes its namesake. */
  isDeletion(item: JsonObject): boolean;
  merge(old: JsonObject, item: JsonObject): JsonObject;
}

/** A strategic merge of a list of objects by their merge key: the namesake is merged or deleted, what is new comes last. */
export function mergeObjectList(
  current: readonly unknown[],
  patch: readonly unknown[],
  key: string,
  rules: ObjectListRules,
): unknown[] {
  const result = [...current];
  for (const item of patch) {
    if (!isObject(item) || item[key] === undefined) {
      const message = `map: ${JSON.stringify(item)} does not contain declared merge key: ${key}`;
      throw new StatusError("BadRequest", message);
    }
    const wanted = elementKey(item, key);
    const at = result.findIndex((old) => elementKey(old, key) === wanted);
    const old = result[at];
    if (rules.isDeletion(item)) {
      if (at >= 0) result.splice(at, 1);
    } else if (at >= 0) result[at] = rules.merge(isObject(old) ? old : {}, item);
    else result.push(rules.merge({}, item));
  }
  return result;
}

/**
 * Elements in the order that the patch names; elements it does not name keep their place among those that were
 * there before, and new ones of the patch go first.
 */
export function orderList(
  list: readonly unknown[],
  order: readonly string[],
  before: readonly string[],
  mergeKey: string | undefined,
): unknown[] {
  const keyed = list.map((item) => ({ item, key: elementKey(item, mergeKey) }));
  const named = keyed
    .filter(({ key }) => order.includes(key))
    .sort((a, b) => order.indexOf(a.key) - order.indexOf(b.key));
  const others = keyed.filter(({ key }) => !order.includes(key));
  const result: unknown[] = [];
  while (named.length > 0 || others.length > 0) {
    const [left, right] = [named[0], others[0]];
    const takeLeft =
      left !== undefined && (right === undefined || before.indexOf(left.key) < before.indexOf(right.key));
    const next = takeLeft ? named.shift() : others.shift();
    if (next !== undefined) result.push(next.item);
  }
  return result;
}
