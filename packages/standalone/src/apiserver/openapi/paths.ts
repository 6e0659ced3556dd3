import { ALL_VERBS, type KindInfo, type Verb } from "../../kinds/kind-info.ts";
import type { JsonObject } from "../../schema/model.ts";
import type { OpenApiVersion } from "./publish.ts";

interface References {
  object: JsonObject;
  list: JsonObject;
}
interface Operation {
  method: "get" | "post" | "put" | "patch" | "delete";
  verb: Verb;
  action: string;
  response: keyof References | "status";
}

const COLLECTION: readonly Operation[] = [
  { method: "get", verb: "list", action: "list", response: "list" },
  { method: "post", verb: "create", action: "post", response: "object" },
  { method: "delete", verb: "deletecollection", action: "deletecollection", response: "status" },
];
const ITEM: readonly Operation[] = [
  { method: "get", verb: "get", action: "get", response: "object" },
  { method: "put", verb: "update", action: "put", response: "object" },
  { method: "patch", verb: "patch", action: "patch", response: "object" },
  { method: "delete", verb: "delete", action: "delete", response: "status" },
];
const SUBRESOURCE = ITEM.filter(({ method }) => method !== "delete");

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  dryRun: "All: do everything but the write.",
  fieldManager: "Name under which changes are recorded.",
  fieldValidation: "What happens to unknown and duplicate fields: Ignore, Warn or Strict.",
  force: "Take fields over from other managers.",
  labelSelector: "Only objects with these labels.",
  fieldSelector: "Only objects with these field values.",
  limit: "Most objects per page.",
  continue: "Where the page begins.",
  resourceVersion: "The version that the response must be as new as.",
  watch: "Send changes as they happen.",
};
const QUERY: Readonly<Record<Operation["action"], readonly string[]>> = {
  list: ["labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "watch"],
  post: ["dryRun", "fieldManager", "fieldValidation"],
  put: ["dryRun", "fieldManager", "fieldValidation"],
  patch: ["dryRun", "fieldManager", "fieldValidation", "force"],
  delete: ["dryRun"],
  deletecollection: ["dryRun", "labelSelector", "fieldSelector"],
  get: [],
};
const TYPES: Readonly<Record<string, string>> = { limit: "integer", watch: "boolean", force: "boolean" };

/** The addresses of one kind in one version, with what may be done there. */
export function kindPaths(
  kind: KindInfo,
  version: string,
  openApi: OpenApiVersion,
  references: References,
): JsonObject {
  const { group, plural, namespaced } = kind.resource;
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const place = namespaced ? `${root}/namespaces/{namespace}/${plural}` : `${root}/${plural}`;
  const make = (operations: readonly Operation[], inPath: readonly string[]) =>
    pathItem(kind, { version, openApi }, references, { operations, inPath });
  const scope = namespaced ? ["namespace"] : [];
  const paths: JsonObject = {
    [place]: make(COLLECTION, scope),
    [`${place}/{name}`]: make(ITEM, ["name", ...scope]),
  };
  if (namespaced) paths[`${root}/${plural}`] = make(COLLECTION.slice(0, 1), []);
  if (kind.subresources.status) paths[`${place}/{name}/status`] = make(SUBRESOURCE, ["name", ...scope]);
  return paths;
}

function pathItem(
  kind: KindInfo,
  { version, openApi }: { version: string; openApi: OpenApiVersion },
  references: References,
  { operations, inPath }: { operations: readonly Operation[]; inPath: readonly string[] },
): JsonObject {
  const { group, kind: name } = kind.resource;
  const item: JsonObject = {
    parameters: inPath.map((parameter) => ({
      name: parameter,
      in: "path",
      required: true,
      ...typed("string", openApi),
    })),
  };
  for (const { method, verb, action, response } of operations) {
    if (!(kind.verbs ?? ALL_VERBS).includes(verb)) continue;
    const schema = response === "status" ? { type: "object" } : references[response];
    const ok = openApi === "v2" ? { schema } : { content: { "application/json": { schema } } };
    item[method] = {
      tags: [`${group === "" ? "core" : group}_${version}`],
      parameters: (QUERY[action] ?? []).map((parameter) => ({
        name: parameter,
        in: "query",
        description: DESCRIPTIONS[parameter] ?? "",
        ...typed(TYPES[parameter] ?? "string", openApi),
      })),
      responses: { "200": { description: "OK", ...ok } },
      "x-kubernetes-action": action,
      "x-kubernetes-group-version-kind": { group, version, kind: name },
    };
  }
  return item;
}

function typed(type: string, openApi: OpenApiVersion): JsonObject {
  return openApi === "v2" ? { type } : { schema: { type } };
}
