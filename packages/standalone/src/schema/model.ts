/**
 * A structural schema: the subset of OpenAPI v3 that CustomResourceDefinitions use, in its own JSON form, so that a
 * CRD's schema is used as it is. Built-in kinds have the same form (see `dsl.ts`), with additions of
 * ours: `typeName`, `typeDescription` and the formats `quantity` and `micro-time`.
 */
export interface Schema {
  description?: string;
  title?: string;
  type?: "object" | "array" | "string" | "integer" | "number" | "boolean";
  format?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  required?: string[];
  enum?: unknown[];
  default?: unknown;
  nullable?: boolean;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: boolean;
  exclusiveMaximum?: boolean;
  multipleOf?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  minProperties?: number;
  maxProperties?: number;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  not?: Schema;
  example?: unknown;
  externalDocs?: unknown;
  "x-kubernetes-preserve-unknown-fields"?: boolean;
  "x-kubernetes-int-or-string"?: boolean;
  "x-kubernetes-embedded-resource"?: boolean;
  "x-kubernetes-list-type"?: "atomic" | "set" | "map";
  "x-kubernetes-list-map-keys"?: string[];
  "x-kubernetes-map-type"?: "atomic" | "granular";
  "x-kubernetes-validations"?: ValidationRule[];
  "x-kubernetes-patch-strategy"?: string;
  "x-kubernetes-patch-merge-key"?: string;
  /** Name of a shared type of built-in kinds, e.g. `io.k8s.api.core.v1.PodSpec`; published as a `$ref`. */
  typeName?: string;
  /** What that type is; `description` is what a field of the type is for. */
  typeDescription?: string;
}

/** One CEL rule of `x-kubernetes-validations`. */
export interface ValidationRule {
  rule: string;
  message?: string;
  messageExpression?: string;
  reason?: "FieldValueInvalid" | "FieldValueForbidden" | "FieldValueRequired" | "FieldValueDuplicate";
  fieldPath?: string;
  optionalOldSelf?: boolean;
}

/** An object of JSON whose fields are not checked yet. */
export type JsonObject = Record<string, unknown>;

/** An object of JSON: neither null nor an array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The schema of one field of an object or map; undefined when the schema does not know the field. */
export function childSchema(schema: Schema | undefined, field: string): Schema | undefined {
  if (schema === undefined) return undefined;
  const own = schema.properties;
  if (own !== undefined && Object.hasOwn(own, field)) return own[field];
  return typeof schema.additionalProperties === "object" ? schema.additionalProperties : undefined;
}

/** True for maps with arbitrary keys, whose values have one schema; paths print their keys as `[key]`. */
export function isMap(schema: Schema | undefined): boolean {
  return schema?.additionalProperties !== undefined && schema.additionalProperties !== false;
}

/** A deep copy of a JSON value, which shares nothing with it. Faster than `structuredClone`, and for JSON only. */
export function clone<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(clone) as T;
  const copy: JsonObject = {};
  for (const [key, item] of Object.entries(value)) copy[key] = clone(item);
  return copy as T;
}

/** Equality of JSON values; the order of keys does not matter, absent and undefined are the same. */
export function jsonEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, i) => jsonEqual(item, b[i]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  for (const key of Object.keys(a)) if (!jsonEqual(a[key], b[key])) return false;
  for (const key of Object.keys(b)) if (b[key] !== undefined && a[key] === undefined) return false;
  return true;
}

/** JSON with sorted keys: the same text for equal values. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? "null";
  const entries = Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`);
  return `{${entries.join(",")}}`;
}
