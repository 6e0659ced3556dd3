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
  const result: unknown[] = [...current];
  /** Where namesakes are, the first one last; deleted ones leave a hole. */
  const places = new Map<string, number[]>();
  for (let at = current.length - 1; at >= 0; at--) put(places, elementKey(current[at], key), at);
  for (const item of patch) {
    if (!isObject(item) || item[key] === undefined) {
      const message = `map: ${JSON.stringify(item)} does not contain declared merge key: ${key}`;
      throw new StatusError("BadRequest", message);
    }
    const wanted = elementKey(item, key);
    const namesakes = places.get(wanted) ?? [];
    const at = namesakes.at(-1);
    if (rules.isDeletion(item)) {
      const deleted = namesakes.pop();
      if (deleted !== undefined) result[deleted] = HOLE;
    } else if (at === undefined) put(places, wanted, result.push(rules.merge({}, item)) - 1);
    else {
      const old = result[at];
      result[at] = rules.merge(isObject(old) ? old : {}, item);
    }
  }
  return result.filter((item) => item !== HOLE);
}

const HOLE = Symbol("deleted");

function put(places: Map<string, number[]>, key: string, at: number): void {
  const present = places.get(key);
  if (present === undefined) places.set(key, [at]);
  else present.push(at);
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
  const [ordered, present] = [firstPlaces(order), firstPlaces(before)];
  const placeOf = (places: ReadonlyMap<string, number>, key: string) => places.get(key) ?? -1;
  const keyed = list.map((item) => ({ item, key: elementKey(item, mergeKey) }));
  const named = keyed
    .filter(({ key }) => ordered.has(key))
    .sort((a, b) => placeOf(ordered, a.key) - placeOf(ordered, b.key));
  const others = keyed.filter(({ key }) => !ordered.has(key));
  const result: unknown[] = [];
  for (let [n, o] = [0, 0]; n < named.length || o < others.length; ) {
    const [left, right] = [named[n], others[o]];
    const takeLeft =
      left !== undefined && (right === undefined || placeOf(present, left.key) < placeOf(present, right.key));
    const next = takeLeft ? left : right;
    if (takeLeft) n += 1;
    else o += 1;
    if (next !== undefined) result.push(next.item);
  }
  return result;
}

function firstPlaces(keys: readonly string[]): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  for (const [at, key] of keys.entries()) if (!places.has(key)) places.set(key, at);
  return places;
}
