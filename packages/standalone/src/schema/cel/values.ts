import { childSchema, isMap, isObject, type Schema } from "../model.ts";
import { environment } from "./environment.ts";

const parseDuration = environment.clone().registerVariable("text", "string").parse("duration(text)");

/** Identifiers that cannot be field names in an expression; they are escaped as `__word__`. */
const RESERVED: ReadonlySet<string> = new Set(
  "true false null in as break const continue else for function if import let loop package namespace return var void while".split(
    " ",
  ),
);
const SPECIAL: readonly [string, string][] = [
  ["__", "__underscores__"],
  [".", "__dot__"],
  ["-", "__dash__"],
  ["/", "__slash__"],
];

/** The name by which an expression reaches a field: `a-b` is `a__dash__b`, `namespace` is `__namespace__`. */
export function escapeField(name: string): string {
  if (RESERVED.has(name)) return `__${name}__`;
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !name.includes("__")) return name;
  return SPECIAL.reduce((text, [from, to]) => text.split(from).join(to), name);
}

/** A JSON value as CEL sees it under its schema: integers are int, `date-time` strings are timestamps, and so on. */
export function toCel(value: unknown, schema: Schema | undefined): unknown {
  if (value === null || value === undefined || typeof value === "boolean") return value ?? null;
  if (typeof value === "number")
    return schema?.type === "number" || !Number.isSafeInteger(value) ? value : BigInt(value);
  if (typeof value === "string") return celText(value, schema);
  if (Array.isArray(value)) return value.map((item) => toCel(item, schema?.items));
  if (!isObject(value)) return value;
  const result: Record<string, unknown> = {};
  const named = schema?.properties;
  for (const [field, item] of Object.entries(value)) {
    const child = childSchema(schema, field);
    const isField = named !== undefined && Object.hasOwn(named, field);
    // Rules never see what the schema does not declare, so that they cannot depend on it.
    if (
      !isField &&
      !isMap(schema) &&
      schema?.["x-kubernetes-embedded-resource"] !== true &&
      named !== undefined
    )
      continue;
    if (item === null && child?.nullable !== true) continue;
    result[isField || !isMap(schema) ? escapeField(field) : field] = toCel(item, child);
  }
  return result;
}

function celText(value: string, schema: Schema | undefined): unknown {
  switch (schema?.format) {
    case "date-time":
    case "date":
    case "datetime":
      return new Date(value);
    case "duration":
      return parseDuration({ text: value });
    case "byte":
      return new Uint8Array(Buffer.from(value, "base64"));
    default:
      return value;
  }
}
