import { readFile } from "node:fs/promises";
import { apiVersionOf, defineResource, groupResource, type KubeObject, type Resource } from "@mooring/store";
import { parseAllDocuments } from "yaml";
import { builtinKinds } from "../../packages/standalone/src/builtin/index.ts";
import { bundledCrds, type CustomResourceDefinition } from "../../packages/standalone/src/crd/index.ts";
import { isObject, type Schema } from "../../packages/standalone/src/schema/model.ts";

/**
 * Writes objects as the least careful server would: every field that the kind has and the object has not is null, an
 * empty list is null, and every list of objects ends with a null. A real server does this for fields without
 * `omitempty` (`apiGroup`, `drivers`, `creationTimestamp`, `lastProbeTime`); which ones changes with its version.
 */
export async function goEncoding(): Promise<(object: KubeObject, resource: Resource) => unknown> {
  const schemas = await allSchemas();
  return (object, resource) => {
    const schema = schemas.get(`${groupResource(resource)} ${apiVersionOf(resource)}`);
    if (schema === undefined) throw new Error(`no schema of ${groupResource(resource)}`);
    return encode(structuredClone(object), schema);
  };
}

async function allSchemas(): Promise<Map<string, Schema>> {
  const schemas = new Map<string, Schema>();
  for (const { resource, schema } of [...builtinKinds, ...(await ownKinds())])
    schemas.set(`${groupResource(resource)} ${apiVersionOf(resource)}`, schema);
  return schemas;
}

/** Every version of every kind in deploy/crds. */
export async function ownKinds(): Promise<{ resource: Resource; schema: Schema }[]> {
  const kinds = [];
  for (const file of await bundledCrds()) {
    for (const document of parseAllDocuments(await readFile(file, "utf8"))) {
      const { spec } = document.toJS() as CustomResourceDefinition;
      const { group, names, scope, versions } = spec;
      const { kind, plural } = names;
      for (const { name: version, schema } of versions) {
        const { openAPIV3Schema } = schema as { openAPIV3Schema: Schema };
        const resource = defineResource({ group, version, kind, plural, namespaced: scope === "Namespaced" });
        kinds.push({ resource, schema: openAPIV3Schema });
      }
    }
  }
  return kinds;
}

/** Other programs' maps, in which an entry is data. */
const DATA = new Set(["labels", "annotations", "managedFields"]);

function encode(value: unknown, schema: Schema): unknown {
  if (Array.isArray(value)) {
    if (value.length === 0) return null;
    const items = value.map((item) => encode(item, schema.items ?? {}));
    return items.every(isObject) ? [...items, null] : items;
  }
  if (!isObject(value)) return value;
  for (const [field, child] of Object.entries(schema.properties ?? {})) {
    const present = value[field];
    if (present === undefined) value[field] = null;
    else if (!DATA.has(field)) value[field] = encode(present, child);
  }
  return value;
}
