import {
  defined,
  type ManagedFieldsEntry,
  type StatusCause,
  StatusError,
  type UnstructuredObject,
} from "@mooring/store";
import { isObject, type JsonObject, type Schema } from "../model.ts";
import type { Comparison } from "./compare.ts";
import {
  difference,
  EMPTY,
  type FieldSet,
  fromFieldsV1,
  intersection,
  isEmpty,
  node,
  paths,
  pathText,
  setOf,
  toFieldsV1,
  union,
} from "./field-set.ts";

/** One entry of `metadata.managedFields`, its fields as a set. */
export interface Manager {
  manager: string;
  operation: "Apply" | "Update";
  apiVersion: string;
  subresource?: string;
  /** RFC 3339 */
  time?: string;
  fields: FieldSet;
}

/** By {@link identify}: who did something by the same means is one manager. */
export type Managers = Map<string, Manager>;

/** Applying again in another version is the same manager; updating is not. */
export function identify(
  manager: Pick<Manager, "manager" | "operation" | "apiVersion" | "subresource">,
): string {
  const version = manager.operation === "Apply" ? "" : manager.apiVersion;
  return JSON.stringify([manager.manager, manager.operation, version, manager.subresource ?? ""]);
}

/** `metadata.managedFields` as it is stored. Entries that no API server writes are left out. */
export function decodeManagers(entries: unknown): Managers {
  const managers: Managers = new Map();
  for (const entry of Array.isArray(entries) ? entries : []) {
    if (!isObject(entry) || (entry.operation !== "Apply" && entry.operation !== "Update")) continue;
    const { subresource, time } = entry;
    const manager: Manager = {
      manager: String(entry.manager ?? "unknown"),
      operation: entry.operation,
      apiVersion: String(entry.apiVersion ?? ""),
      ...(typeof subresource === "string" && subresource !== "" ? { subresource } : {}),
      ...(typeof time === "string" ? { time } : {}),
      fields: fromFieldsV1(entry.fieldsV1),
    };
    const same = managers.get(identify(manager));
    managers.set(
      identify(manager),
      same === undefined ? manager : { ...manager, fields: union(same.fields, manager.fields) },
    );
  }
  return managers;
}

/** As an object stores it: those who have fields, in the order that API servers use. */
export function encodeManagers(managers: Managers): ManagedFieldsEntry[] {
  const all = capUpdates([...managers.values()].filter(({ fields }) => !isEmpty(fields)));
  return all.sort(compareManagers).map(({ manager, operation, apiVersion, subresource, time, fields }) => ({
    manager,
    operation,
    apiVersion,
    ...defined({ time }),
    fieldsType: "FieldsV1",
    fieldsV1: toFieldsV1(fields),
    ...defined({ subresource }),
  }));
}

function compareManagers(a: Manager, b: Manager): number {
  const order = (m: Manager) => [m.operation, m.time ?? "", m.manager, m.apiVersion, m.subresource ?? ""];
  const [left, right] = [order(a), order(b)];
  const at = left.findIndex((text, i) => text !== right[i]);
  return at < 0 ? 0 : (left[at] ?? "") < (right[at] ?? "") ? -1 : 1;
}

const MAX_UPDATE_MANAGERS = 10;
const ANCIENT = "ancient-changes";

/** The oldest updaters are lumped together, so that objects that everybody touches do not grow for ever. */
function capUpdates(managers: Manager[]): Manager[] {
  const updates = managers.filter(
    ({ operation, subresource }) => operation === "Update" && subresource === undefined,
  );
  const excess = updates.length - MAX_UPDATE_MANAGERS;
  if (excess <= 0) return managers;
  const oldest = [...updates].sort(compareManagers).slice(0, excess + 1);
  const lumps = new Map<string, Manager>();
  for (const each of oldest) {
    const lump = lumps.get(each.apiVersion);
    const fields = lump === undefined ? each.fields : union(lump.fields, each.fields);
    lumps.set(each.apiVersion, { ...each, manager: ANCIENT, fields });
  }
  return [...managers.filter((each) => !oldest.includes(each)), ...lumps.values()];
}

/** Fields that belong to the server: they have no manager. */
const SYSTEM_FIELDS = setOf(
  ["f:apiVersion"],
  ["f:kind"],
  ["f:metadata"],
  ...[
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
  ].map((field) => ["f:metadata", `f:${field}`]),
);

/** What a request can own: not what the server sets, and of spec and status only the half that it may write. */
export function ownable(set: FieldSet, hasStatus: boolean, subresource: string | undefined): FieldSet {
  const own = difference(set, SYSTEM_FIELDS);
  if (!hasStatus) return own;
  const inStatus = (element: string) => element === "f:status";
  return node(
    false,
    [...own.children].filter(([element]) => (subresource === "status") === inStatus(element)),
  );
}

/** The part of the object that managers can own. */
export function unmanaged(object: UnstructuredObject | undefined): JsonObject {
  if (object === undefined) return { metadata: {} };
  const { managedFields: _managedFields, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** What has to be known of a kind to track its managers. */
export interface ManagedKind {
  schema: Schema;
  hasStatus: boolean;
  custom: boolean;
}

interface Merged {
  managers: Managers;
  /** What each manager loses because another one has set it to another value. */
  conflicts: Map<string, FieldSet>;
}

/** Takes changed and removed fields away from all managers but `self`. */
export function takeOver(managers: Managers, self: string, changes: Comparison): Merged {
  const changed = union(changes.added, changes.modified);
  const result: Managers = new Map();
  const conflicts = new Map<string, FieldSet>();
  for (const [id, manager] of managers) {
    const lost = id === self ? EMPTY : intersection(manager.fields, changed);
    if (!isEmpty(lost)) conflicts.set(id, lost);
    const fields = difference(difference(manager.fields, lost), changes.removed);
    if (!isEmpty(fields)) result.set(id, { ...manager, fields });
  }
  return { managers: result, conflicts };
}

/** `"kubectl" with subresource "status" using v1`: managers that updated also name the version. */
function describe({ manager, operation, apiVersion, subresource }: Manager): string {
  const name =
    JSON.stringify(manager) +
    (subresource === undefined ? "" : ` with subresource ${JSON.stringify(subresource)}`);
  return operation === "Update" ? `${name} using ${apiVersion}` : name;
}

/** The 409 of server-side apply, one cause per field, with the text that kubectl turns into advice. */
export function conflictError(conflicts: ReadonlyMap<string, FieldSet>, managers: Managers): StatusError {
  const byManager = [...conflicts].flatMap(([id, set]) => {
    const manager = managers.get(id);
    return manager === undefined ? [] : [{ who: describe(manager), fields: [...paths(set)].map(pathText) }];
  });
  byManager.sort((a, b) => (a.who < b.who ? -1 : 1));
  const causes: StatusCause[] = byManager.flatMap(({ who, fields }) =>
    fields.map((field) => ({ reason: "FieldManagerConflict", message: `conflict with ${who}`, field })),
  );
  const [only] = byManager;
  const text =
    causes.length === 1 && only !== undefined
      ? `Apply failed with 1 conflict: conflict with ${only.who}: ${only.fields[0]}`
      : `Apply failed with ${causes.length} conflicts: ${byManager
          .map(({ who, fields }) =>
            [`conflicts with ${who}:`, ...fields.map((field) => `- ${field}`)].join("\n"),
          )
          .join("\n")}`;
  return new StatusError("Conflict", text, { causes });
}
