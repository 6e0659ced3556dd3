import { QUANTITY_ERROR, StatusError } from "@mooring/store";
import { childSchema, isObject, type JsonObject, type Schema } from "./model.ts";
import { normalizeQuantity } from "./quantity.ts";
import { readTime } from "./time.ts";
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
    throw new StatusError(
      "BadRequest",
      `${kind.kind} in version ${JSON.stringify(kind.version)} cannot be handled as a ${kind.kind}: ${message}${path === "" ? "" : ` (field ${path})`}`,
    );
  });
}

type Fail = (path: string, message: string) => never;

const wrongType = (actual: string, wanted: string): string =>
  `json: cannot unmarshal ${actual === "integer" ? "number" : actual === "boolean" ? "bool" : actual} into ${wanted}`;

function decode(value: unknown, schema: Schema, path: string, fail: Fail): unknown {
  const actual = jsonType(value);
  if (schema.format === "quantity") return decodeQuantity(value, path, fail);
  if (schema["x-kubernetes-int-or-string"] === true) {
    return actual === "integer" || actual === "string"
      ? value
      : fail(path, wrongType(actual, "an integer or string"));
  }
  if (
    schema.type !== undefined &&
    schema.type !== actual &&
    !(schema.type === "number" && actual === "integer")
  ) {
    return fail(path, wrongType(actual, schema.type));
  }
  if (schema.format === "date-time" || schema.format === "micro-time") {
    const read = readTime(String(value), schema.format === "date-time" ? "seconds" : "micros");
    return "time" in read ? read.time : fail(path, read.problem);
  }
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

function decodeQuantity(value: unknown, path: string, fail: Fail): string {
  const text = typeof value === "string" || typeof value === "number" ? normalizeQuantity(value) : undefined;
  return text ?? fail(path, QUANTITY_ERROR);
}
