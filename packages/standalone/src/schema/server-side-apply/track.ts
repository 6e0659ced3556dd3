import {
  defined,
  type ManagedFieldsEntry,
  type ManagerContext,
  type UnstructuredObject,
} from "@mooring/store";
import { isObject } from "../model.ts";
import { compareValues } from "./compare.ts";
import { EMPTY, isEmpty, union } from "./field-set.ts";
import {
  decodeManagers,
  encodeManagers,
  identify,
  type ManagedKind,
  type Manager,
  ownable,
  takeOver,
  unmanaged,
} from "./managers.ts";

/** `[{}]` is how a client asks to forget all managers. */
function isReset(entries: unknown): boolean {
  return (
    Array.isArray(entries) &&
    entries.length === 1 &&
    isObject(entries[0]) &&
    Object.keys(entries[0]).length === 0
  );
}

/** The managers after a write that was no apply: the writer owns what changed. */
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
  // Built-in kinds always have these, so that no manager owns them as such.
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
