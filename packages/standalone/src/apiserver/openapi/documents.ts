import { setImmediate as nextTurn } from "node:timers/promises";
import { defined } from "@mooring/store";
import type { KindInfo, KindRegistry, OpenApiDocuments } from "../../kinds/kind-info.ts";
import type { JsonObject, Schema } from "../../schema/model.ts";
import { listMetaSchema } from "../../schema/object-meta.ts";
import { kindPaths } from "./paths.ts";
import { type Components, type OpenApiVersion, publish } from "./publish.ts";

const INFO = { title: "Mooring", version: "v1.35.0" };

/** OpenAPI documents of the kinds being served, made when they are asked for and kept until a kind changes. */
export function createOpenApi(kinds: KindRegistry): OpenApiDocuments {
  const cache = new Map<string, object>();
  kinds.onChange(() => cache.clear());
  const cached = <T extends object>(key: string, make: () => T): T => {
    // Sound: what is kept under a key was made for it.
    const document = (cache.get(key) as T | undefined) ?? make();
    cache.set(key, document);
    return document;
  };
  const groupVersions = (): Set<string> =>
    new Set(kinds.all().flatMap((kind) => kind.versions.map((version) => pathOf(kind, version))));
  return {
    v2: () => cached("v2", () => swagger(kinds.all())),
    v3Paths: () => [...groupVersions()].sort(),
    v3: (path) => (groupVersions().has(path) ? cached(path, () => openApi3(kinds.all(), path)) : undefined),
  };
}

function pathOf(kind: KindInfo, version: string): string {
  return kind.resource.group === "" ? `api/${version}` : `apis/${kind.resource.group}/${version}`;
}

/** All kinds in one document: too many for one turn of the event loop. */
async function swagger(kinds: readonly KindInfo[]): Promise<object> {
  const components: Components = new Map();
  const paths: JsonObject = {};
  for (const kind of kinds) {
    for (const version of kind.versions) Object.assign(paths, addKind(kind, version, "v2", components));
    await nextTurn();
  }
  return { swagger: "2.0", info: INFO, paths, definitions: Object.fromEntries(components) };
}

function openApi3(kinds: readonly KindInfo[], path: string): object {
  const components: Components = new Map();
  const paths: JsonObject = {};
  for (const kind of kinds) {
    for (const version of kind.versions) {
      if (pathOf(kind, version) === path) Object.assign(paths, addKind(kind, version, "v3", components));
    }
  }
  return { openapi: "3.0.0", info: INFO, paths, components: { schemas: Object.fromEntries(components) } };
}

/** Adds the kind and its list to the components; gives its paths. */
function addKind(
  kind: KindInfo,
  version: string,
  openApi: OpenApiVersion,
  components: Components,
): JsonObject {
  const schema = kind.schema(version) as Schema | undefined;
  if (schema === undefined) return {};
  const { group, kind: name } = kind.resource;
  const component = schema.typeName ?? customName(group, version, name);
  publish({ ...schema, typeName: component }, openApi, components);
  const description = schema.description;
  components.set(component, {
    ...components.get(component),
    ...defined({ description }),
    "x-kubernetes-group-version-kind": [{ group, version, kind: name }],
  });
  const list = `${component}List`;
  const reference = (to: string) => ({
    $ref: openApi === "v2" ? `#/definitions/${to}` : `#/components/schemas/${to}`,
  });
  components.set(list, {
    type: "object",
    description: `A list of ${name} objects.`,
    required: ["items"],
    properties: {
      apiVersion: { type: "string", description: "Version of this form of the list." },
      kind: { type: "string", description: "Kind of the list." },
      metadata: publish(listMetaSchema, openApi, components),
      items: { type: "array", description: "The objects.", items: reference(component) },
    },
    "x-kubernetes-group-version-kind": [{ group, version, kind: kind.listKind }],
  });
  return kindPaths(kind, version, openApi, { object: reference(component), list: reference(list) });
}

/** `com.example.v1.Widget` for `example.com/v1`, as generators expect of custom kinds. */
function customName(group: string, version: string, kind: string): string {
  return [...group.split(".").reverse(), version, kind].join(".");
}
