import { type ApplyContext, defined, StatusError, type UnstructuredObject } from "@mooring/store";
import { clone, isObject, type JsonObject, jsonEqual, type Schema } from "../model.ts";
import { compareValues } from "./compare.ts";
import { difference, EMPTY, equalSets, type FieldSet, isEmpty, node, union } from "./field-set.ts";
import { coveredByLastApplied, KUBECTL, refreshLastApplied } from "./last-applied.ts";
import {
  conflictError,
  decodeManagers,
  encodeManagers,
  identify,
  type ManagedKind,
  type Manager,
  type Managers,
  ownable,
  takeOver,
  unmanaged,
} from "./managers.ts";
import { mergeApplied, removePaths } from "./merge.ts";
import { checkTyped, fieldSetOf } from "./typed.ts";

/**
 * Server-side apply: the object after `manager` has applied its intent, with the record of who owns what.
 * What the manager applied before and applies no more goes, unless another manager owns it too. Setting a field that
 * another manager owns to another value is a Conflict, or takes the field over with `force`.
 */
export function applyObject(
  current: UnstructuredObject | undefined,
  applied: UnstructuredObject,
  { schema, hasStatus }: ManagedKind,
  context: ApplyContext,
): UnstructuredObject {
  if ((applied.metadata.managedFields?.length ?? 0) > 0) {
    throw new StatusError("BadRequest", "metadata.managedFields must be nil");
  }
  checkTyped(unmanaged(applied), schema, describe(applied));
  const live = unmanaged(current);
  const config = writableHalf(unmanaged(applied), hasStatus, context.subresource);
  const before = decodeManagers(current?.metadata.managedFields);
  const self: Omit<Manager, "fields"> = {
    manager: context.manager,
    operation: "Apply",
    apiVersion: applied.apiVersion,
    ...defined({ subresource: context.subresource }),
  };
  const id = identify(self);
  const last = before.get(id)?.fields ?? EMPTY;
  const owned = ownable(fieldSetOf(config, schema), hasStatus, context.subresource);
  const wanted: Managers = new Map(before).set(id, { ...self, ...timeOf(before.get(id)), fields: owned });
  const merged = mergeApplied(live, config, schema);
  const result = prune(merged, wanted, last, schema);
  const changes = compareValues(live, result, schema);
  const { managers, conflicts } = takeOver(wanted, id, changes);
  if (conflicts.size > 0 && !context.force) {
    const lost = [...conflicts.values()].reduce(union, EMPTY);
    const migrating = context.manager === KUBECTL && coveredByLastApplied(lost, live, schema);
    if (!migrating) throw conflictError(conflicts, before);
  }
  // The set may have lost fields that were pruned from the result; what was applied is what is owned.
  managers.set(id, { ...self, ...timeOf(before.get(id)), fields: owned });
  if (!jsonEqual(live, result) || !sameManagers(before, managers)) {
    managers.set(id, { ...self, time: context.time, fields: owned });
  }
  const next = isObject(result) ? refreshLastApplied(result, config, context.manager) : {};
  const object = clone(next) as unknown as UnstructuredObject;
  object.metadata = { ...object.metadata, managedFields: encodeManagers(managers) };
  return object;
}

/** Of spec and status only what the request may write; the rest of it is ignored. */
function writableHalf(config: JsonObject, hasStatus: boolean, subresource: string | undefined): JsonObject {
  const { status, ...rest } = config;
  if (!hasStatus) return config;
  if (subresource !== "status") return rest;
  const { apiVersion, kind, metadata } = config;
  const { name, namespace } = isObject(metadata) ? metadata : {};
  return { apiVersion, kind, metadata: { name, ...defined({ namespace }) }, status };
}

function timeOf(manager: Manager | undefined): { time?: string } {
  return defined({ time: manager?.time });
}

function describe({ apiVersion, kind, metadata }: UnstructuredObject): string {
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  const name =
    metadata.namespace === undefined ? `/${metadata.name}` : `${metadata.namespace}/${metadata.name}`;
  return `failed to create typed patch object (${name}; ${group}/${version}, Kind=${kind})`;
}

function sameManagers(a: Managers, b: Managers): boolean {
  return (
    a.size === b.size && [...a].every(([id, { fields }]) => equalSets(fields, b.get(id)?.fields ?? EMPTY))
  );
}

/** Removes what the manager owned before and no manager owns now. */
function prune(merged: unknown, managers: Managers, last: FieldSet, schema: Schema): unknown {
  const owned = [...managers.values()].reduce((set, { fields }) => union(set, fields), EMPTY);
  // Most often as much is applied as before.
  if (isWithin(last, owned)) return merged;
  const gone = difference(last, withParents(owned));
  return gone === EMPTY ? merged : (removePaths(merged, gone, schema, owned) ?? merged);
}

/** Whatever is in the one is in the other, or contains something that is. */
function isWithin(set: FieldSet, other: FieldSet | undefined): boolean {
  if (other === undefined) return isEmpty(set);
  for (const [element, child] of set.children)
    if (!isWithin(child, other.children.get(element))) return false;
  return true;
}

/** An element that contains something owned is owned itself with regard to its removal. */
function withParents(set: FieldSet): FieldSet {
  if (set.children.size === 0) return set;
  return node(
    true,
    [...set.children].map(([element, child]) => [element, withParents(child)] as const),
  );
}
