import { ruleSchema } from "../schema/cel/rules.ts";
import { dropForbiddenNulls } from "../schema/default.ts";
import { type FieldError, forbidden, invalid, notSupported, required } from "../schema/field-error.ts";
import { isObject, type Schema } from "../schema/model.ts";
import { patternOf } from "../schema/pattern.ts";
import { validateSchema } from "../schema/validate.ts";
import { ruleErrors } from "./validate-rules.ts";

const TYPES = ["array", "boolean", "integer", "number", "object", "string"];
/** Keywords that a structural schema may not have at all. */
const FORBIDDEN = ["$ref", "definitions", "dependencies", "patternProperties", "additionalItems", "id"];
/** Keywords that only describe values: what the logical junctors may contain. */
const STRUCTURE = [
  "type",
  "default",
  "additionalProperties",
  "nullable",
  "description",
  "x-kubernetes-preserve-unknown-fields",
];

/** What keeps a CRD's schema from being structural, and its rules from compiling. */
export function validateStructure(schema: Schema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (schema.type !== "object")
    errors.push(invalid(`${path}.type`, schema.type ?? "", "must be object at the root"));
  visit(ruleSchema(schema), path, errors);
  for (const field of Object.keys(schema.properties?.metadata?.properties ?? {})) {
    if (field === "name" || field === "generateName") continue;
    errors.push(
      forbidden(
        `${path}.properties[metadata]`,
        `must not specify anything other than name and generateName, but metadata is implicitly specified`,
      ),
    );
  }
  return errors;
}

/** `detached`: the list above without whose keys an element has no old value; undefined where every value has one. */
function visit(schema: Schema, path: string, errors: FieldError[], detached?: string): void {
  const raw = schema as Record<string, unknown>;
  for (const keyword of FORBIDDEN) {
    if (raw[keyword] !== undefined)
      errors.push(forbidden(`${path}.${keyword}`, `${keyword} is not supported`));
  }
  if (schema.uniqueItems === true) {
    errors.push(
      forbidden(
        `${path}.uniqueItems`,
        "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
      ),
    );
  }
  typeErrors(schema, path, errors);
  listErrors(schema, path, errors);
  ruleErrors(schema, path, errors, detached);
  defaultErrors(schema, path, errors);
  for (const junctor of ["allOf", "anyOf", "oneOf"] as const) {
    for (const [i, part] of (schema[junctor] ?? []).entries())
      valueOnly(part, `${path}.${junctor}[${i}]`, errors);
  }
  if (schema.not !== undefined) valueOnly(schema.not, `${path}.not`, errors);
  for (const [field, child] of Object.entries(schema.properties ?? {})) {
    visit(child, `${path}.properties[${field}]`, errors, detached);
  }
  if (isObject(schema.items)) {
    const keyed = schema["x-kubernetes-list-type"] === "map";
    visit(schema.items, `${path}.items`, errors, detached ?? (keyed ? undefined : path));
  }
  if (isObject(schema.additionalProperties)) {
    visit(schema.additionalProperties, `${path}.additionalProperties`, errors, detached);
  }
}

function typeErrors(schema: Schema, path: string, errors: FieldError[]): void {
  const free =
    schema["x-kubernetes-int-or-string"] === true || schema["x-kubernetes-preserve-unknown-fields"] === true;
  if (schema.type === undefined) {
    if (!free) errors.push(required(`${path}.type`, "must not be empty for specified object fields"));
  } else if (!TYPES.includes(schema.type)) errors.push(notSupported(`${path}.type`, schema.type, TYPES));
  if (schema.type === "array" && schema.items === undefined)
    errors.push(required(`${path}.items`, "must be specified"));
  if (Array.isArray(schema.items))
    errors.push(forbidden(`${path}.items`, "items must be a schema object and not an array"));
  if (schema.properties !== undefined && schema.additionalProperties !== undefined) {
    errors.push(
      forbidden(`${path}.additionalProperties`, "additionalProperties and properties are mutual exclusive"),
    );
  }
  if (schema.additionalProperties === false) {
    errors.push(forbidden(`${path}.additionalProperties`, "additionalProperties cannot be set to false"));
  }
  if (schema.pattern !== undefined) {
    try {
      patternOf(schema.pattern);
    } catch {
      errors.push(invalid(`${path}.pattern`, schema.pattern, "must be a valid regular expression"));
    }
  }
}

function listErrors(schema: Schema, path: string, errors: FieldError[]): void {
  const listType = schema["x-kubernetes-list-type"];
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  if (listType !== undefined && schema.type !== "array") {
    errors.push(
      invalid(`${path}.type`, schema.type ?? "", "must be array if x-kubernetes-list-type is specified"),
    );
  }
  if (listType !== undefined && !["atomic", "set", "map"].includes(listType)) {
    errors.push(notSupported(`${path}.x-kubernetes-list-type`, listType, ["atomic", "map", "set"]));
  }
  if (listType !== "map") {
    if (keys.length > 0)
      errors.push(
        invalid(
          `${path}.x-kubernetes-list-type`,
          listType ?? "",
          "must be map if x-kubernetes-list-map-keys is non-empty",
        ),
      );
    return;
  }
  if (keys.length === 0) {
    errors.push(
      required(`${path}.x-kubernetes-list-map-keys`, "must not be empty if x-kubernetes-list-type is map"),
    );
  }
  for (const [i, key] of keys.entries()) {
    const at = `${path}.x-kubernetes-list-map-keys[${i}]`;
    const item = schema.items?.properties?.[key];
    if (item === undefined) errors.push(invalid(at, key, "entries must all be names of item properties"));
    else if (schema.items?.required?.includes(key) !== true && item.default === undefined) {
      const detail =
        "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
      errors.push(required(`${path}.items.properties[${key}].default`, detail));
    }
  }
}

function defaultErrors(schema: Schema, path: string, errors: FieldError[]): void {
  if (schema.default === undefined) return;
  const value = structuredClone(schema.default);
  dropForbiddenNulls(value, schema);
  for (const error of validateSchema(value, schema)) {
    errors.push({ ...error, field: `${path}.default${error.field === "" ? "" : `.${error.field}`}` });
  }
}

/** Below a junctor, schemas say what values may be, not what fields there are. */
function valueOnly(schema: Schema, path: string, errors: FieldError[]): void {
  const raw = schema as Record<string, unknown>;
  for (const keyword of STRUCTURE) {
    if (raw[keyword] === undefined) continue;
    // The one spelling of "integer or text" that is allowed here.
    if (
      keyword === "type" &&
      /\.anyOf\[\d\]$/.test(path) &&
      ["integer", "string"].includes(String(raw[keyword]))
    )
      continue;
    errors.push(forbidden(`${path}.${keyword}`, "must be empty to be structural"));
  }
  for (const [field, child] of Object.entries(schema.properties ?? {}))
    valueOnly(child, `${path}.properties[${field}]`, errors);
  if (isObject(schema.items)) valueOnly(schema.items, `${path}.items`, errors);
}
