import { type StatusCause, StatusError } from "@mooring/store";

type FieldErrorType =
  | "FieldValueRequired"
  | "FieldValueInvalid"
  | "FieldValueTypeInvalid"
  | "FieldValueNotSupported"
  | "FieldValueDuplicate"
  | "FieldValueForbidden"
  | "FieldValueTooLong"
  | "FieldValueTooMany"
  | "FieldValueNotFound";

/** One wrong field. `body` is the text after the path, as an API server writes it. */
export interface FieldError {
  reason: FieldErrorType;
  /** `spec.resources.requests[storage]`; `<nil>` for the whole object. */
  field: string;
  body: string;
}

/** Strings in quotes, numbers as they are, anything else as JSON. */
function show(value: unknown): string {
  return value === undefined ? "null" : (JSON.stringify(value) ?? "null");
}
const tail = (detail: string): string => (detail === "" ? "" : `: ${detail}`);

/** A field that has to be there is absent or empty. `detail` says what it is for, where its name does not. */
export const required = (field: string, detail = ""): FieldError => ({
  reason: "FieldValueRequired",
  field,
  body: `Required value${tail(detail)}`,
});
/** The value breaks a rule of its field, which `detail` states: "must be greater than zero". */
export const invalid = (field: string, value: unknown, detail: string): FieldError => ({
  reason: "FieldValueInvalid",
  field,
  body: `Invalid value: ${show(value)}${tail(detail)}`,
});
/** The value has another JSON type than its field. */
export const typeInvalid = (field: string, value: unknown, detail: string): FieldError => ({
  ...invalid(field, value, detail),
  reason: "FieldValueTypeInvalid",
});
/** The value is none of an enumeration, whose values the message lists. */
export const notSupported = (field: string, value: unknown, supported: readonly unknown[]): FieldError => ({
  reason: "FieldValueNotSupported",
  field,
  body: `Unsupported value: ${show(value)}${supported.length === 0 ? "" : `: supported values: ${supported.map(show).join(", ")}`}`,
});
/** The value, or its key, occurs twice in a list that is a set or a map. */
export const duplicate = (field: string, value: unknown): FieldError => ({
  reason: "FieldValueDuplicate",
  field,
  body: `Duplicate value: ${show(value)}`,
});
/** The field may not be there, or may not change, in this object; `detail` states when it may. */
export const forbidden = (field: string, detail: string): FieldError => ({
  reason: "FieldValueForbidden",
  field,
  body: `Forbidden${tail(detail)}`,
});
/** `limit` in bytes. */
export const tooLong = (field: string, limit: number): FieldError => ({
  reason: "FieldValueTooLong",
  field,
  body: `Too long: may not be more than ${limit} bytes`,
});
/** A list has `actual` items, or a map as many entries, and may have `limit`. */
export const tooMany = (field: string, actual: number, limit: number): FieldError => ({
  reason: "FieldValueTooMany",
  field,
  body: `Too many: ${actual}: must have at most ${limit} items`,
});
/** The value names something that is not there. */
export const notFound = (field: string, value: unknown): FieldError => ({
  reason: "FieldValueNotFound",
  field,
  body: `Not found: ${show(value)}`,
});

/** The 422 of an API server: `Pod "x" is invalid: spec.containers: Required value`. */
export function invalidObject(
  kind: { group: string; kind: string },
  name: string,
  errors: readonly FieldError[],
): StatusError {
  const lines = [...new Set(errors.map((e) => `${e.field}: ${e.body}`))];
  const list = lines.length === 1 ? lines[0] : `[${lines.join(", ")}]`;
  const full = kind.group === "" ? kind.kind : `${kind.kind}.${kind.group}`;
  const causes: StatusCause[] = errors.map((e) => ({ reason: e.reason, message: e.body, field: e.field }));
  return new StatusError("Invalid", `${full} ${JSON.stringify(name)} is invalid: ${list}`, {
    name,
    ...(kind.group === "" ? {} : { group: kind.group }),
    kind: kind.kind,
    causes,
  });
}
