import { EngineError } from "../../errors.ts";

/** A JSON object that a client sent. */
export type Body = Readonly<Record<string, unknown>>;

const invalid = (field: string, want: string): EngineError =>
  new EngineError("INVALID_ARGUMENT", `${field} has to be ${want}`);

/** No body is an empty one. Throws INVALID_ARGUMENT for anything but an object. */
export function bodyOf(value: unknown): Body {
  if (value === undefined || value === null) return {};
  if (typeof value !== "object" || Array.isArray(value)) throw invalid("the body", "a JSON object");
  return value as Body;
}

/** A field that is a string; undefined when absent or empty. Throws INVALID_ARGUMENT for anything else. */
export function text(body: Body, field: string): string | undefined {
  const value = body[field];
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value !== "string") throw invalid(field, "a string");
  return value;
}

/** A field that is true or false; absent is false. Throws INVALID_ARGUMENT for anything else. */
export function flag(body: Body, field: string): boolean {
  const value = body[field];
  if (value === undefined || value === null) return false;
  if (typeof value !== "boolean") throw invalid(field, "true or false");
  return value;
}

/** RFC 3339. */
export function time(body: Body, field: string): Date | undefined {
  const value = text(body, field);
  if (value === undefined) return undefined;
  const date = new Date(value);
  const complete = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i.test(value);
  if (!complete || Number.isNaN(date.getTime())) throw invalid(field, "a time like 2026-01-31T12:00:00Z");
  return date;
}

/** A field that is a map of strings; absent is empty. Throws INVALID_ARGUMENT for anything else. */
export function labels(body: Body, field: string): Record<string, string> {
  const value = body[field] ?? {};
  const fits =
    typeof value === "object" &&
    !Array.isArray(value) &&
    Object.values(value).every((item) => typeof item === "string");
  if (!fits) throw invalid(field, "an object of strings");
  return value as Record<string, string>;
}
