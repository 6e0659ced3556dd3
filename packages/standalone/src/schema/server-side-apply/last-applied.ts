import { clone, isObject, type JsonObject, type Schema } from "../model.ts";
import { compareValues } from "./compare.ts";
import { difference, type FieldSet, isEmpty } from "./field-set.ts";
import { fieldSetOf } from "./typed.ts";

/** Name under which `kubectl apply --server-side` applies. */
export const KUBECTL = "kubectl";
const ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration";

function annotationsOf(object: JsonObject): JsonObject {
  const metadata = object.metadata;
  const annotations = isObject(metadata) ? metadata.annotations : undefined;
  return isObject(annotations) ? annotations : {};
}

/**
 * True when every lost field is one that the same operator applied from the client before, and no client has changed
 * since: going over to server-side apply is no conflict with oneself.
 */
export function coveredByLastApplied(lost: FieldSet, live: JsonObject, schema: Schema): boolean {
  const text = annotationsOf(live)[ANNOTATION];
  if (typeof text !== "string") return false;
  const applied = parse(text);
  if (applied === undefined) return false;
  const changed = compareValues(applied, live, schema).modified;
  return isEmpty(difference(lost, difference(fieldSetOf(applied, schema), changed)));
}

function parse(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Keeps the annotation of client-side apply true where there is one, so that one can go back. */
export function refreshLastApplied(object: JsonObject, applied: JsonObject, manager: string): JsonObject {
  const annotations = annotationsOf(object);
  if (manager !== KUBECTL || annotations[ANNOTATION] === undefined) return object;
  const plain = clone(applied);
  delete annotationsOf(plain)[ANNOTATION];
  const metadata = { ...(object.metadata as JsonObject) };
  metadata.annotations = { ...annotations, [ANNOTATION]: `${JSON.stringify(plain)}\n` };
  return { ...object, metadata };
}
