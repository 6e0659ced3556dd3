import { defined } from "@mooring/store";
import { isObject, type JsonObject, type Schema } from "../../schema/model.ts";

/** Of the documents in which clients read the schema. */
export type OpenApiVersion = "v2" | "v3";

/** Published types by name; filled while schemas are published. */
export type Components = Map<string, JsonObject>;

/** Formats that only we know, and what they are called outside. */
const FORMATS: Readonly<Record<string, string>> = { "micro-time": "date-time" };

/** Named scalars, as generators of other clients know them. */
const SCALARS: Readonly<Record<string, Readonly<Record<OpenApiVersion, JsonObject>>>> = {
  "io.k8s.apimachinery.pkg.api.resource.Quantity": {
    v2: { type: "string", description: "An amount such as 500m, 10Gi or 1e3." },
    v3: {
      oneOf: [{ type: "string" }, { type: "number" }],
      description: "An amount such as 500m, 10Gi or 1e3.",
    },
  },
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
    v2: { type: "string", format: "int-or-string", description: "An integer or a text." },
    v3: {
      oneOf: [{ type: "integer" }, { type: "string" }],
      format: "int-or-string",
      description: "An integer or a text.",
    },
  },
};

/** Keywords that belong to a field, not to the type it has. */
const OF_THE_FIELD = ["default", "x-kubernetes-patch-strategy", "x-kubernetes-patch-merge-key"] as const;

/** What OpenAPI 2 cannot express. */
const ONLY_V3: ReadonlySet<string> = new Set(["anyOf", "oneOf", "not", "nullable"]);

/** A schema as the document shows it. Named types become references, and components the first time they are met. */
export function publish(schema: Schema, version: OpenApiVersion, components: Components): JsonObject {
  const { typeName, description } = schema;
  if (typeName === undefined) return inline(schema, version, components);
  if (!components.has(typeName)) {
    // Before its fields, so that a recursive type ends.
    components.set(typeName, {});
    components.set(typeName, SCALARS[typeName]?.[version] ?? typeComponent(schema, version, components));
  }
  const extra: JsonObject = {};
  for (const key of OF_THE_FIELD) if (schema[key] !== undefined) extra[key] = schema[key];
  const ref = version === "v2" ? `#/definitions/${typeName}` : `#/components/schemas/${typeName}`;
  const link = version === "v2" ? { $ref: ref } : { allOf: [{ $ref: ref }] };
  return { ...link, ...defined({ description }), ...extra };
}

function typeComponent(schema: Schema, version: OpenApiVersion, components: Components): JsonObject {
  const plain: Schema = { ...schema };
  for (const key of OF_THE_FIELD) delete plain[key];
  if (schema.typeDescription !== undefined) plain.description = schema.typeDescription;
  return inline(plain, version, components);
}

function inline(schema: Schema, version: OpenApiVersion, components: Components): JsonObject {
  const result: JsonObject = {};
  for (const [key, value] of Object.entries(schema)) {
    if (
      value === undefined ||
      key === "typeName" ||
      key === "typeDescription" ||
      (version === "v2" && ONLY_V3.has(key))
    )
      continue;
    result[key] = publishKeyword(key, value, version, components);
  }
  if (typeof result.format === "string") result.format = FORMATS[result.format] ?? result.format;
  return result;
}

function publishKeyword(
  key: string,
  value: unknown,
  version: OpenApiVersion,
  components: Components,
): unknown {
  const sub = (child: unknown): unknown =>
    isObject(child) ? publish(child as Schema, version, components) : child;
  switch (key) {
    case "properties":
      return Object.fromEntries(
        Object.entries(value as Record<string, Schema>).map(([name, child]) => [name, sub(child)]),
      );
    case "items":
    case "additionalProperties":
    case "not":
      return sub(value);
    case "allOf":
    case "anyOf":
    case "oneOf":
      return (value as Schema[]).map(sub);
    default:
      return value;
  }
}
