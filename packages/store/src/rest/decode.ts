import { groupResource, type Resource } from "../object/resource.ts";

/**
 * Objects as they come from an API server, made into what our types promise.
 *
 * Go writes nil slices, maps, pointers and zero times as `null`, and takes null for absence when it reads. So null and
 * absence are one here too: fields that are null go, and so do elements of lists (Go has none that mean anything).
 * What is *empty* stays: `storageClassName: ""` and `selector: {}` say something else than nothing.
 *
 * A null means something only in data that is not of Go's types, and there it stays: see `RAW` and `Resource.custom`.
 */

/** Fields that carry foreign JSON verbatim: field sets of managers, schemas (`default: null`), revisions. */
const ANY_KIND: ReadonlySet<string> = new Set(["fieldsV1"]);
const RAW: Readonly<Record<string, ReadonlySet<string>>> = {
  "customresourcedefinitions.apiextensions.k8s.io": new Set(["fieldsV1", "openAPIV3Schema"]),
  "controllerrevisions.apps": new Set(["fieldsV1", "data"]),
};

/** Lists without `omitempty` in Go: always there in our types, null or missing on the wire. */
const ALWAYS: Readonly<Record<string, readonly string[]>> = {
  pods: ["spec", "containers"],
  persistentvolumes: ["spec", "nodeAffinity", "required", "nodeSelectorTerms"],
  "csinodes.storage.k8s.io": ["spec", "drivers"],
};

/** Decodes one object in place; `mayHaveNull: false` spares the walk where the text had no null. */
export function decodeObject<T>(value: T, resource: Resource, mayHaveNull = true): T {
  const name = groupResource(resource);
  if (!isMap(value)) return value;
  if (mayHaveNull) {
    const raw = RAW[name] ?? ANY_KIND;
    if (resource.custom !== true) dropNulls(value, raw);
    else if (isMap(value["metadata"])) dropNulls(value["metadata"], raw);
  }
  const path = ALWAYS[name];
  if (path !== undefined) ensureList(value, path);
  return value;
}

/** The text of a response, or of one line of a watch, may hold a null. */
export function mentionsNull(json: string): boolean {
  return json.includes("null");
}

/** Removes what is null, in place. */
export function dropNulls(value: Record<string, unknown>, raw: ReadonlySet<string> = ANY_KIND): void {
  for (const field in value) {
    const item = value[field];
    if (item === null) delete value[field];
    else if (raw.has(field)) continue;
    else if (Array.isArray(item)) value[field] = withoutNulls(item, raw);
    else if (isMap(item)) dropNulls(item, raw);
  }
}

function withoutNulls(list: unknown[], raw: ReadonlySet<string>): unknown[] {
  const kept = list.includes(null) ? list.filter((item) => item !== null) : list;
  for (const [i, item] of kept.entries()) {
    if (Array.isArray(item)) kept[i] = withoutNulls(item, raw);
    else if (isMap(item)) dropNulls(item, raw);
  }
  return kept;
}

/** The list at `path`; where its parents are missing, it stays missing. */
function ensureList(value: Record<string, unknown>, path: readonly string[]): void {
  const field = path.at(-1) as string;
  let parent: unknown = value;
  for (const step of path.slice(0, -1)) parent = isMap(parent) ? parent[step] : undefined;
  if (isMap(parent)) parent[field] ??= [];
}

/** True for what JSON calls an object. */
export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
