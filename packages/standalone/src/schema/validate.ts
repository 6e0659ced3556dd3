import { QUANTITY_ERROR, readQuantity } from "@mooring/store";
import {
  duplicate,
  type FieldError,
  invalid,
  notSupported,
  required,
  tooLong,
  tooMany,
  typeInvalid,
} from "./field-error.ts";
import { hasFormat } from "./formats.ts";
import {
  canonicalJson,
  childSchema,
  isMap,
  isObject,
  type JsonObject,
  jsonEqual,
  type Schema,
} from "./model.ts";
import { patternOf } from "./pattern.ts";

/** Path of a field below `path`, as an API server prints it: `.name` in structs, `[key]` in maps. */
export function fieldPath(path: string, schema: Schema | undefined, field: string): string {
  const own = schema?.properties;
  const named = own !== undefined && Object.hasOwn(own, field);
  if (!named && isMap(schema)) return `${path}[${field}]`;
  return path === "" ? field : `${path}.${field}`;
}

/** Everything about `value` that `schema` forbids, CEL rules aside (see `cel/`). */
export function validateSchema(value: unknown, schema: Schema, path = ""): FieldError[] {
  const errors: FieldError[] = [];
  visit(value, schema, path, errors);
  return errors;
}

function visit(value: unknown, schema: Schema, path: string, errors: FieldError[]): void {
  if (value === null && schema.nullable === true) return;
  const wrong = typeProblem(value, schema);
  if (wrong !== undefined) {
    const name = jsonType(value);
    errors.push(
      typeInvalid(
        path,
        isObject(value) || Array.isArray(value) ? name : value === null ? "null" : value,
        wrongType(path, wrong, value),
      ),
    );
    return;
  }
  if (schema.enum !== undefined && !schema.enum.some((item) => jsonEqual(item, value))) {
    errors.push(notSupported(path, value, schema.enum));
  }
  if (typeof value === "string") checkString(value, schema, path, errors);
  else if (typeof value === "number") checkNumber(value, schema, path, errors);
  else if (Array.isArray(value)) checkArray(value, schema, path, errors);
  else if (isObject(value)) checkObject(value, schema, path, errors);
  checkJunctors(value, schema, path, errors);
}

const wrongType = (path: string, type: string, value: unknown): string =>
  `${path} in body must be of type ${type}: ${JSON.stringify(jsonType(value))}`;

/** The type as OpenAPI names it: whole numbers are "integer", and null has a type of its own. */
export function jsonType(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

/** The type that the schema wants, when `value` has another one. */
function typeProblem(value: unknown, schema: Schema): string | undefined {
  const actual = jsonType(value);
  if (schema["x-kubernetes-int-or-string"] === true) {
    return actual === "integer" || actual === "string" ? undefined : "integer,string";
  }
  const wanted = schema.type;
  if (wanted === undefined || wanted === actual) return undefined;
  return wanted === "number" && actual === "integer" ? undefined : wanted;
}

function checkString(value: string, schema: Schema, path: string, errors: FieldError[]): void {
  const inBody = (text: string) => errors.push(invalid(path, value, `${path} in body ${text}`));
  const { minLength, maxLength, pattern, format } = schema;
  if (minLength !== undefined && value.length < minLength && [...value].length < minLength) {
    inBody(`should be at least ${minLength} chars long`);
  }
  if (maxLength !== undefined && value.length > maxLength && [...value].length > maxLength) {
    errors.push(tooLong(path, maxLength));
  }
  if (pattern !== undefined && !patternOf(pattern).test(value)) inBody(`should match '${pattern}'`);
  if (format === undefined) return;
  if (format === "quantity") {
    if (readQuantity(value) === undefined) errors.push(invalid(path, value, QUANTITY_ERROR));
  } else if (!hasFormat(format, value)) {
    inBody(`must be of type ${format}: ${JSON.stringify(value)}`);
  }
}

function checkNumber(value: number, schema: Schema, path: string, errors: FieldError[]): void {
  const { minimum, maximum, multipleOf } = schema;
  const inBody = (text: string) => errors.push(invalid(path, value, `${path} in body ${text}`));
  if (minimum !== undefined) {
    if (schema.exclusiveMinimum === true && value <= minimum) inBody(`should be greater than ${minimum}`);
    else if (value < minimum) inBody(`should be greater than or equal to ${minimum}`);
  }
  if (maximum !== undefined) {
    if (schema.exclusiveMaximum === true && value >= maximum) inBody(`should be less than ${maximum}`);
    else if (value > maximum) inBody(`should be less than or equal to ${maximum}`);
  }
  if (multipleOf !== undefined && !Number.isInteger(value / multipleOf))
    inBody(`should be a multiple of ${multipleOf}`);
  if (schema.format === "int32" && (value > 2147483647 || value < -2147483648)) {
    inBody(`must be of type int32: ${JSON.stringify(value)}`);
  }
}

function checkArray(value: unknown[], schema: Schema, path: string, errors: FieldError[]): void {
  const { minItems, maxItems, items } = schema;
  if (minItems !== undefined && value.length < minItems) {
    errors.push(invalid(path, value.length, `${path} in body should have at least ${minItems} items`));
  }
  if (maxItems !== undefined && value.length > maxItems) errors.push(tooMany(path, value.length, maxItems));
  if (items !== undefined)
    for (const [i, item] of value.entries()) visit(item, items, `${path}[${i}]`, errors);
  checkUnique(value, schema, path, errors);
}

/** Lists of type set and map have no two items with the same value or keys. */
function checkUnique(value: unknown[], schema: Schema, path: string, errors: FieldError[]): void {
  const listType = schema["x-kubernetes-list-type"];
  if (listType !== "set" && listType !== "map" && schema.uniqueItems !== true) return;
  const seen = new Set<string>();
  for (const [i, item] of value.entries()) {
    const key = listType === "map" ? keysOf(item, schema) : item;
    const text = canonicalJson(key);
    if (seen.has(text)) errors.push(duplicate(`${path}[${i}]`, key));
    seen.add(text);
  }
}

function keysOf(item: unknown, schema: Schema): JsonObject {
  const keys: JsonObject = {};
  for (const key of schema["x-kubernetes-list-map-keys"] ?? []) {
    const value = isObject(item) ? item[key] : undefined;
    const fallback = schema.items?.properties?.[key]?.default;
    if (value !== undefined || fallback !== undefined) keys[key] = value ?? fallback;
  }
  return keys;
}

function checkObject(value: JsonObject, schema: Schema, path: string, errors: FieldError[]): void {
  const { minProperties, maxProperties } = schema;
  for (const field of schema.required ?? []) {
    if (value[field] === undefined) errors.push(required(fieldPath(path, schema, field)));
  }
  if (minProperties !== undefined || maxProperties !== undefined) {
    const count = Object.keys(value).length;
    if (count < (minProperties ?? 0)) {
      errors.push(invalid(path, count, `${path} in body should have at least ${minProperties} properties`));
    }
    if (count > (maxProperties ?? count)) errors.push(tooMany(path, count, maxProperties ?? count));
  }
  for (const [field, item] of Object.entries(value)) {
    if (item === undefined) continue;
    const child = childSchema(schema, field);
    if (child !== undefined) visit(item, child, fieldPath(path, schema, field), errors);
  }
}

function checkJunctors(value: unknown, schema: Schema, path: string, errors: FieldError[]): void {
  if (
    schema.allOf === undefined &&
    schema.anyOf === undefined &&
    schema.oneOf === undefined &&
    schema.not === undefined
  ) {
    return;
  }
  const fits = (option: Schema): boolean => validateSchema(value, option, path).length === 0;
  const complain = (text: string) =>
    errors.push(invalid(path === "" ? "<nil>" : path, "", `${JSON.stringify(path)} ${text}`));
  for (const part of schema.allOf ?? []) visit(value, part, path, errors);
  if (schema.anyOf !== undefined && !schema.anyOf.some(fits))
    complain("must validate at least one schema (anyOf)");
  if (schema.oneOf !== undefined) {
    const count = schema.oneOf.filter(fits).length;
    const found = count === 0 ? "none valid" : `${count} valid alternatives`;
    if (count !== 1) complain(`must validate one and only one schema (oneOf). Found ${found}`);
  }
  if (schema.not !== undefined && fits(schema.not)) complain("must not validate the schema (not)");
}
