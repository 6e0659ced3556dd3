import type { ManagedFieldsEntry, ManagerContext, UnstructuredObject } from "@mooring/store";
import { defined } from "@mooring/store";
import { isObject, type JsonObject, type Schema } from "../model.ts";
import { type Comparison, compareValues } from "./compare.ts";
import { difference, EMPTY, type FieldSet, intersection, isEmpty, node, setOf, union } from "./field-set.ts";
import { decodeManagers, encodeManagers, identify, type Manager, type Managers } from "./managers.ts";

/** Fields that belong to the server: nobody manages them. */
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
  /** What each manager loses because somebody else has set it to another value. */
  conflicts: Map<string, FieldSet>;
}

/** Takes changed and removed fields away from everybody but `self`. */
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

/** `[{}]` is how a client asks to forget all managers. */
function isReset(entries: unknown): boolean {
  return (
    Array.isArray(entries) &&
    entries.length === 1 &&
    isObject(entries[0]) &&
    Object.keys(entries[0]).length === 0
  );
}

/** The managers after a write that was no apply: whoever writes owns what changed. */
export function trackUpdate(
  old: UnstructuredObject | undefined,
  next: UnstructuredObject,
  { schema, hasStatus, custom }: ManagedKind,
  context: ManagerContext,
): ManagedFieldsEntry[] {
  if (isReset(next.metadata.managedFields)) return [];
  // Clients may edit the record itself; an empty one changes nothing.
  const given = decodeManagers(next.metadata.managedFields);
  const before =
    given.size > 0 && context.subresource === undefined ? given : decodeManagers(old?.metadata.managedFields);
  // Built-in kinds always have these, so that nobody owns them as such.
  const blank = custom ? { metadata: {} } : { metadata: {}, spec: {}, status: {} };
  const changes = compareValues(old === undefined ? blank : unmanaged(old), unmanaged(next), schema);
  const self: Omit<Manager, "fields"> = {
    manager: context.manager,
    operation: "Update",
    apiVersion: next.apiVersion,
    ...defined({ subresource: context.subresource }),
  };
  const id = identify(self);
  const { managers } = takeOver(before, id, changes);
  const taken = ownable(union(changes.added, changes.modified), hasStatus, context.subresource);
  if (!isEmpty(taken)) {
    const had = managers.get(id)?.fields ?? EMPTY;
    managers.set(id, { ...self, time: context.time, fields: union(had, taken) });
  }
  return encodeManagers(managers);
}
