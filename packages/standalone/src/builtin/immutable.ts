import type { UnstructuredObject } from "@mooring/store";
import { dig } from "../kinds/builtin-kind.ts";
import { type FieldError, forbidden, invalid } from "../schema/field-error.ts";
import { jsonEqual } from "../schema/model.ts";

/** `x: Invalid value: ...: field is immutable` for every dotted path whose value differs. */
export function immutable(
  next: UnstructuredObject,
  old: UnstructuredObject,
  ...paths: string[]
): FieldError[] {
  return paths.flatMap((path) => {
    const steps = path.split(".");
    const value = dig(next, ...steps);
    return jsonEqual(value, dig(old, ...steps)) ? [] : [invalid(path, value ?? null, "field is immutable")];
  });
}

/** `x: Forbidden: updates to x are forbidden.` */
export function noUpdates(
  next: UnstructuredObject,
  old: UnstructuredObject,
  ...fields: string[]
): FieldError[] {
  return fields
    .filter((field) => !jsonEqual(next[field], old[field]))
    .map((field) => forbidden(field, `updates to ${field} are forbidden.`));
}
