import { defined } from "../../object/defined.ts";
import { conflict, invalid } from "../../object/errors.ts";
import { cloneJson, sameJson } from "../../object/json.ts";
import type { ManagedFieldsEntry, UnstructuredObject } from "../../object/meta.ts";
import type { Resource } from "../../object/resource.ts";
import { type Decision, type RuleContext, strategyContext } from "./context.ts";
import { normalized } from "./create.ts";
import { hasSpecFinalizers } from "./namespace.ts";

/** What `current` becomes when a client sends `input`. `tracked`: managedFields are already right (apply). */
export function decideUpdate(
  input: UnstructuredObject,
  current: UnstructuredObject,
  context: RuleContext,
  tracked = false,
): Decision {
  const { resource } = context.definition;
  checkPreconditions(resource, current, input.metadata);
  const desired = keepSystemFields(normalized(input, keyFrom(current), resource), current);
  const { strategy } = context.definition;
  const split = keepOtherHalf(desired, current, context);
  const next = strategy?.update?.(split, cloneJson(current), strategyContext(context)) ?? split;
  checkFinalizers(resource, next, current);
  bumpGeneration(next, current);
  if (!tracked) trackManagers(next, current, context);
  if (sameButTimes(next, current)) return { action: "keep", object: current };
  return { action: isReleased(next) ? "remove" : "store", object: next };
}

/** Throws Conflict when the object is not the one, or not in the version, that the client has seen. */
export function checkPreconditions(
  resource: Resource,
  current: UnstructuredObject,
  expected: { uid?: string; resourceVersion?: string },
): void {
  const { name, uid, resourceVersion } = current.metadata;
  if (expected.uid && expected.uid !== uid) {
    const why = `Precondition failed: UID in precondition: ${expected.uid}, UID in object meta: ${uid}`;
    throw conflict(resource, name, why);
  }
  if (
    expected.resourceVersion &&
    expected.resourceVersion !== "0" &&
    expected.resourceVersion !== resourceVersion
  ) {
    throw conflict(resource, name);
  }
}

function keyFrom(object: UnstructuredObject): { namespace?: string; name: string } {
  const { namespace, name } = object.metadata;
  return namespace === undefined ? { name } : { namespace, name };
}

const SYSTEM_FIELDS = [
  "uid",
  "resourceVersion",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "generation",
  "generateName",
] as const;

/** Clients can neither set nor clear what the server keeps about an object. */
function keepSystemFields(next: UnstructuredObject, current: UnstructuredObject): UnstructuredObject {
  const metadata: Record<string, unknown> = { ...next.metadata };
  for (const field of SYSTEM_FIELDS) {
    if (current.metadata[field] === undefined) delete metadata[field];
    else metadata[field] = current.metadata[field];
  }
  if (metadata["managedFields"] === undefined && current.metadata.managedFields !== undefined) {
    metadata["managedFields"] = cloneJson(current.metadata.managedFields);
  }
  return { ...next, metadata: metadata as unknown as UnstructuredObject["metadata"] };
}

/** A status request changes nothing but status; any other leaves status alone, where the kind separates them. */
function keepOtherHalf(
  desired: UnstructuredObject,
  current: UnstructuredObject,
  context: RuleContext,
): UnstructuredObject {
  if (!context.definition.hasStatus) return desired;
  const [base, status] = context.subresource === "status" ? [current, desired] : [desired, current];
  const next: UnstructuredObject = cloneJson(base);
  if (context.subresource === "status" && desired.metadata.managedFields !== undefined) {
    next.metadata.managedFields = desired.metadata.managedFields;
  }
  if (status["status"] === undefined) delete next["status"];
  else next["status"] = cloneJson(status["status"]);
  return next;
}

function checkFinalizers(resource: Resource, next: UnstructuredObject, current: UnstructuredObject): void {
  if (current.metadata.deletionTimestamp === undefined) return;
  const before = new Set(current.metadata.finalizers);
  const added = (next.metadata.finalizers ?? []).filter((finalizer) => !before.has(finalizer));
  if (added.length === 0) return;
  const names = added.map((name) => JSON.stringify(name)).join(", ");
  const message = `Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{${names}}`;
  throw invalid(resource, current.metadata.name, [
    { reason: "FieldValueForbidden", message, field: "metadata.finalizers" },
  ]);
}

/** The desired state is everything but metadata and status. */
function bumpGeneration(next: UnstructuredObject, current: UnstructuredObject): void {
  const { generation } = current.metadata;
  if (generation === undefined) return;
  next.metadata.generation = sameJson(desiredState(next), desiredState(current))
    ? generation
    : generation + 1;
}

function desiredState(object: UnstructuredObject): Record<string, unknown> {
  const { metadata: _m, status: _s, ...rest } = object;
  return rest;
}

function trackManagers(next: UnstructuredObject, current: UnstructuredObject, context: RuleContext): void {
  const { strategy } = context.definition;
  if (strategy?.trackManagers === undefined || context.fieldManager === undefined) return;
  next.metadata.managedFields = strategy.trackManagers(cloneJson(current), next, {
    manager: context.fieldManager,
    time: context.now,
    ...defined({ subresource: context.subresource }),
  });
}

/** A write that changes nothing but times in managedFields is none. */
function sameButTimes(next: UnstructuredObject, current: UnstructuredObject): boolean {
  return sameJson(withoutTimes(next), withoutTimes(current));
}

function withoutTimes(object: UnstructuredObject): unknown {
  const { managedFields, ...metadata } = object.metadata;
  const fields = (managedFields ?? []).map(({ time: _time, ...entry }: ManagedFieldsEntry) => entry);
  return { ...object, metadata: { ...metadata, finalizers: metadata.finalizers ?? [] }, fields };
}

/** Marked for deletion, no finalizer keeps it any more, and its grace is over. */
function isReleased(object: UnstructuredObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds, finalizers } = object.metadata;
  return (
    deletionTimestamp !== undefined &&
    (finalizers?.length ?? 0) === 0 &&
    (deletionGracePeriodSeconds ?? 0) === 0 &&
    !hasSpecFinalizers(object)
  );
}
