import { badRequest } from "../../object/errors.ts";
import { cloneJson } from "../../object/json.ts";
import type { UnstructuredObject } from "../../object/meta.ts";
import { StatusError } from "../../object/status-error.ts";
import type { Patch } from "../../object-store.ts";
import { applyJsonPatch } from "../../patch/json-patch.ts";
import { applyMergePatch } from "../../patch/merge-patch.ts";
import type { ResourceStrategy } from "../registry.ts";

/** The object that a client wants, given the one that is there, both in the version of the request. */
export function patched(
  current: UnstructuredObject,
  patch: Exclude<Patch, { type: "apply" }>,
  strategy: ResourceStrategy | undefined,
): UnstructuredObject {
  const result = patchedValue(current, patch, strategy);
  if (typeof result !== "object" || result === null || Array.isArray(result)) {
    throw badRequest("the patch does not leave an object");
  }
  const object = result as UnstructuredObject;
  if (typeof object.metadata !== "object" || object.metadata === null) {
    throw badRequest("the patch removes metadata");
  }
  return object;
}

function patchedValue(
  current: UnstructuredObject,
  patch: Exclude<Patch, { type: "apply" }>,
  strategy: ResourceStrategy | undefined,
): unknown {
  switch (patch.type) {
    case "json":
      return applyJsonPatch<unknown>(current, patch.body);
    case "merge":
      if (typeof patch.body !== "object" || patch.body === null || Array.isArray(patch.body)) {
        throw badRequest("a merge patch must be an object");
      }
      return applyMergePatch(current, patch.body);
    case "strategic":
      if (strategy?.strategicMerge === undefined) throw unsupportedPatch();
      return strategy.strategicMerge(cloneJson(current), cloneJson(patch.body));
  }
}

/** The kind does not know this type of patch. */
export function unsupportedPatch(): StatusError {
  return new StatusError(
    "UnsupportedMediaType",
    "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json",
  );
}
