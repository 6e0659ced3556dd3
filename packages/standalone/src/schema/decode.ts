import { QUANTITY_ERROR, StatusError } from "@mooring/store";
import { childSchema, isObject, type JsonObject, type Schema } from "./model.ts";
import { normalizeQuantity } from "./quantity.ts";
import { jsonType } from "./validate.ts";

/**
 * Built-in kinds are decoded into fixed types: a value of the wrong type is a bad request, not a validation error.
 * Quantities and times come out in canonical form. Changes `value` in place.
 */
export function decodeBuiltin(
  value: JsonObject,
  schema: Schema,
  kind: { kind: string; version: string },
): void {
  decode(value, schema, "", (path, message) => {
    const text = message.startsWith("quantities")
      ? message
      : `json: cannot unmarshal ${message} (field ${path})`;
    throw new StatusError(
      "BadRequest",
      `${kind.kind} in version ${JSON.stringify(kind.version)} cannot be handled as a ${kind.kind}: ${text}`,
    );
  });
}

type Fail = (path: string, message: string) => never;

function decode(value: unknown, schema: Schema, path: string, fail: Fail): unknown {
  const actual = jsonType(value);
  if (schema.format === "quantity") return decodeQuantity(value, path, fail);
  if (schema["x-kubernetes-int-or-string"] === true) {
    return actual === "integer" || actual === "string"
      ? value
      : fail(path, `${goName(actual)} into an integer or string`);
  }
  if (
    schema.type !== undefined &&
    schema.type !== actual &&
    !(schema.type === "number" && actual === "integer")
  ) {
    return fail(path, `${goName(actual)} into ${schema.type}`);
  }
  if (schema.format === "date-time" || schema.format === "micro-time")
    return decodeTime(value, schema, path, fail);
  if (Array.isArray(value) && schema.items !== undefined) {
    for (const [i, item] of value.entries()) value[i] = decode(item, schema.items, `${path}[${i}]`, fail);
  } else if (isObject(value)) {
    for (const [field, item] of Object.entries(value)) {
      const child = childSchema(schema, field);
      if (child !== undefined)
        value[field] = decode(item, child, path === "" ? field : `${path}.${field}`, fail);
    }
  }
  return value;
}

function goName(type: string): string {
  return type === "integer" ? "number" : type === "boolean" ? "bool" : type;
}

function decodeQuantity(value: unknown, path: string, fail: Fail): string {
  const text = typeof value === "string" || typeof value === "number" ? normalizeQuantity(value) : undefined;
  return text ?? fail(path, QUANTITY_ERROR);
}

/** Times are kept in UTC: whole seconds, or microseconds for `micro-time`. */
function decodeTime(value: unknown, schema: Schema, path: string, fail: Fail): string {
  const text = String(value);
  const parsed = Date.parse(text);
  if (Number.isNaN(parsed) || !/T\d\d:\d\d:\d\d/i.test(text))
    return fail(path, `string ${JSON.stringify(text)} into time`);
  const iso = new Date(parsed).toISOString();
  if (schema.format === "date-time") return `${iso.slice(0, 19)}Z`;
  const fraction = /\.(\d+)/.exec(text)?.[1] ?? "";
  return `${iso.slice(0, 19)}.${fraction.padEnd(6, "0").slice(0, 6)}Z`;
}
