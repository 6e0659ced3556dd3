import { defined } from "../../object/defined.ts";
import { badRequest, invalid } from "../../object/errors.ts";
import type { UnstructuredObject } from "../../object/meta.ts";
import { apiVersionOf, type ObjectKey, type Resource } from "../../object/resource.ts";
import { type Decision, type RuleContext, strategyContext } from "./context.ts";

/** What a new object will be. `name` is already made from generateName. */
export function decideCreate(
  input: UnstructuredObject,
  key: ObjectKey,
  uid: string,
  context: RuleContext,
): Decision {
  const { definition } = context;
  if (input.metadata.resourceVersion) {
    throw badRequest("resourceVersion should not be set on objects to be created");
  }
  const object = normalized(input, key, definition.resource);
  if (definition.hasStatus && !definition.keepStatusOnCreate) delete object["status"];
  const { metadata } = object;
  metadata.uid = uid;
  metadata.creationTimestamp = context.now;
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  delete metadata.generation;
  if (definition.hasStatus || Object.hasOwn(object, "spec")) metadata.generation = 1;
  return { action: "store", object: finishCreate(object, context) };
}

function finishCreate(object: UnstructuredObject, context: RuleContext): UnstructuredObject {
  const { strategy } = context.definition;
  const created = strategy?.create?.(object, strategyContext(context)) ?? object;
  if (strategy?.trackManagers !== undefined && context.fieldManager !== undefined) {
    created.metadata.managedFields = strategy.trackManagers(undefined, created, {
      manager: context.fieldManager,
      time: context.now,
      ...defined({ subresource: context.subresource }),
    });
  }
  return created;
}

/** apiVersion and kind first (readers rely on it), then the key that the request names. */
export function normalized(
  input: UnstructuredObject,
  key: ObjectKey,
  resource: Resource,
): UnstructuredObject {
  const { apiVersion: _a, kind: _k, metadata, ...rest } = input;
  const object: UnstructuredObject = {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: { ...metadata, name: key.name },
    ...rest,
  };
  if (key.namespace === undefined) delete object.metadata.namespace;
  else object.metadata.namespace = key.namespace;
  return object;
}

const GENERATED_ALPHABET = "bcdfghjklmnpqrstvwxz2456789";
const GENERATED_LENGTH = 5;
const GENERATED_BASE_LENGTH = 63 - GENERATED_LENGTH;

/** The name that `generateName` leads to; `random` gives a number in [0, 1). */
export function generatedName(base: string, random: () => number): string {
  let suffix = "";
  while (suffix.length < GENERATED_LENGTH) {
    suffix += GENERATED_ALPHABET[Math.floor(random() * GENERATED_ALPHABET.length)];
  }
  return base.slice(0, GENERATED_BASE_LENGTH) + suffix;
}

/** Throws Invalid when a name could not be a segment of a path. */
export function checkName(resource: Resource, name: string | undefined): string {
  const wrong = (reason: string, message: string) =>
    invalid(resource, name ?? "", [{ reason, message, field: "metadata.name" }]);
  if (name === undefined || name === "") {
    throw wrong("FieldValueRequired", "Required value: name or generateName is required");
  }
  const value = JSON.stringify(name);
  if (name === "." || name === "..") {
    throw wrong("FieldValueInvalid", `Invalid value: ${value}: may not be '${name}'`);
  }
  if (/[/%]/.test(name)) {
    throw wrong("FieldValueInvalid", `Invalid value: ${value}: may not contain '/' or '%'`);
  }
  if (name.length > 253 || /[^\x21-\x7e]/.test(name)) {
    throw wrong(
      "FieldValueInvalid",
      `Invalid value: ${value}: must be at most 253 printable ASCII characters`,
    );
  }
  return name;
}
