import {
  applyJsonPatch,
  badRequest,
  defined,
  invalid,
  isNotFound,
  notFound,
  type Patch,
} from "@mooring/store";
import { admission } from "../admission/admission.ts";
import type { Admit } from "../admission/escalation.ts";
import type { Api } from "../api.ts";
import { attributesOf } from "../auth/attributes.ts";
import { forbidden } from "../auth/authorize.ts";
import { contentType, readAs, unsupportedMediaType } from "../http/body.ts";
import { type Call, flag } from "../http/call.ts";
import { asObject, expectedOf, placed, readObject, validateFields } from "./decode-object.ts";
import { requireLiveNamespace } from "./namespace-check.ts";
import { fieldValidation, optionsInvalid, writeOptions } from "./options.ts";
import { itemRepresentation, sendObject } from "./representation.ts";
import { type ItemTarget, keyOfTarget, requireNamespace, type Target } from "./target.ts";

/** POST to a collection. */
export async function handleCreate(call: Call, target: Target, api: Api): Promise<void> {
  const representation = itemRepresentation(call);
  const options = writeOptions(call, "CreateOptions");
  const object = await readObject(call, target, fieldValidation(call, "CreateOptions"));
  requireNamespace(target);
  requireLiveNamespace(api, target, object.metadata.name || object.metadata.generateName || "");
  const admit = await admission(call, target, api);
  const created = await target.objects.create(object, { ...options, admit });
  await sendObject(call, target, { code: 201, object: created }, representation);
}

/** PUT of an object or of its status. */
export async function handleUpdate(call: Call, target: ItemTarget, api: Api): Promise<void> {
  const representation = itemRepresentation(call);
  const options = writeOptions(call, "UpdateOptions");
  const object = await readObject(call, target, fieldValidation(call, "UpdateOptions"));
  // An object that is not there is NotFound, as for every other kind: `update` throws it.
  if (target.kind.custom && !object.metadata.resourceVersion && exists(target)) {
    const message = "Invalid value: 0x0: must be specified for an update";
    const cause = { reason: "FieldValueInvalid", message, field: "metadata.resourceVersion" };
    throw invalid(target.resource, target.name, [cause]);
  }
  const subresource = defined({ subresource: target.subresource });
  const admit = await admission(call, target, api);
  const updated = await target.objects.update(object, { ...options, ...subresource, admit });
  await sendObject(call, target, { code: 200, object: updated }, representation);
}

const PATCH_TYPES: Readonly<Record<string, Patch["type"]>> = {
  "application/json-patch+json": "json",
  "application/merge-patch+json": "merge",
  "application/strategic-merge-patch+json": "strategic",
  "application/apply-patch+yaml": "apply",
};

/** PATCH of an object or of its status, server-side apply among the types. */
export async function handlePatch(call: Call, target: ItemTarget, api: Api): Promise<void> {
  const representation = itemRepresentation(call);
  const options = writeOptions(call, "PatchOptions");
  const validation = fieldValidation(call, "PatchOptions");
  const type = patchType(call, target);
  checkApplyOptions(call, type);
  const body = await readAs(call, type === "apply" ? "yaml" : "json");
  let patch: Patch;
  if (type === "apply") {
    const applied = placed(asObject(body.value, { ...expectedOf(target), defaulted: false }), target);
    validateFields(call, target, applied, { body, validation });
    patch = { type, body: applied, force: flag(call.query, "force") ?? false };
  } else {
    patch = bodyOf(type, body.value);
    const seen = type === "json" ? previewJsonPatch(target, body.value) : withoutDirectives(body.value);
    validateFields(call, target, seen, { body, validation });
  }
  const creates = type === "apply" && !exists(target);
  if (creates) {
    await authorizeCreation(call, target, api);
    requireLiveNamespace(api, target, target.name);
  }
  const subresource = defined({ subresource: target.subresource });
  const admitted = await admission(call, target, api);
  const admit: Admit = (next, old) => {
    // It was there when its creation was not asked for.
    if (old === undefined && !creates) throw notFound(target.resource, target.name);
    admitted(next, old);
  };
  const result = await target.objects.patch(keyOfTarget(target), patch, {
    ...options,
    ...subresource,
    admit,
  });
  await sendObject(call, target, { code: creates ? 201 : 200, object: result }, representation);
}

/** An apply of what is not there makes it: a patch in name only. */
async function authorizeCreation(call: Call, target: ItemTarget, { authorizer }: Api): Promise<void> {
  const attributes = { ...attributesOf(call), verb: "create" };
  if (target.subresource === undefined && !(await authorizer.allowed(call.user, attributes)))
    throw forbidden(call.user, attributes);
}

function patchType(call: Call, target: Target): Patch["type"] {
  const given = contentType(call);
  const type = Object.hasOwn(PATCH_TYPES, given) ? PATCH_TYPES[given] : undefined;
  const accepted = Object.keys(PATCH_TYPES).filter(
    (name) => !target.kind.custom || PATCH_TYPES[name] !== "strategic",
  );
  if (type !== undefined && !(type === "strategic" && target.kind.custom)) return type;
  throw unsupportedMediaType(accepted);
}

function checkApplyOptions(call: Call, type: Patch["type"]): void {
  const manager = call.query.get("fieldManager") ?? "";
  if (type === "apply" && manager === "") {
    const message = "Required value: is required for apply patch";
    throw optionsInvalid("PatchOptions", "fieldManager", "FieldValueRequired", message);
  }
  if (type !== "apply" && call.query.has("force")) {
    const message = "Forbidden: may not be specified for non-apply patch";
    throw optionsInvalid("PatchOptions", "force", "FieldValueForbidden", message);
  }
}

function bodyOf(type: "json" | "merge" | "strategic", value: unknown): Patch {
  if (type !== "json") return { type, body: value };
  if (!Array.isArray(value)) throw badRequest("json patch: the body must be a list of operations");
  return { type, body: value };
}

/** `$patch`, `$retainKeys`, `$setElementOrder/...` steer a strategic merge and are no fields. */
function withoutDirectives(value: unknown): Record<string, unknown> {
  const walk = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(walk);
    if (typeof node !== "object" || node === null) return node;
    const fields = Object.entries(node).filter(([name, child]) => !name.startsWith("$") && child !== null);
    return Object.fromEntries(fields.map(([name, child]) => [name, walk(child)]));
  };
  const result = walk(value);
  return typeof result === "object" && result !== null && !Array.isArray(result)
    ? (result as Record<string, unknown>)
    : {};
}

/** What a JSON patch leads to, to search for unknown fields; whether it fits is for the store to decide. */
function previewJsonPatch(target: ItemTarget, operations: unknown): Record<string, unknown> {
  try {
    const current: unknown = JSON.parse(target.objects.getJson(keyOfTarget(target)));
    return applyJsonPatch(current, operations) as Record<string, unknown>;
  } catch {
    return {};
  }
}

function exists(target: ItemTarget): boolean {
  try {
    target.objects.getJson(keyOfTarget(target));
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}
