import { defined, type ResourceStrategy, StatusError, type UnstructuredObject } from "@mooring/store";
import { strategicMerge } from "./merge/strategic.ts";
import { isObject } from "./model.ts";
import { applyObject } from "./server-side-apply/apply.ts";
import { trackUpdate } from "./server-side-apply/track.ts";
import { admitCreate, admitUpdate, decodeApplied, type KindSchema } from "./strategy.ts";

/** The hooks of one kind as a `LocalStore` calls them. */
export function createStrategy(kind: KindSchema): ResourceStrategy {
  const { rules } = kind;
  return {
    create: (object, context) => admitCreate(kind, object, context),
    update: (next, old, context) => admitUpdate(kind, next, old, context),
    apply: (current, applied, context) => applyObject(current, decodeApplied(kind, applied), kind, context),
    trackManagers: (old, next, context) => trackUpdate(old, next, kind, context),
    ...(kind.custom ? {} : { strategicMerge: (current, patch) => patched(kind, current, patch) }),
    ...defined({
      selectableFields: rules?.selectableFields,
      gracefulDelete: rules?.gracefulDelete,
      admit: rules?.admit,
    }),
  };
}

function patched(kind: KindSchema, current: UnstructuredObject, patch: unknown): UnstructuredObject {
  if (!isObject(patch)) throw new StatusError("BadRequest", "a strategic merge patch must be an object");
  const { apiVersion, kind: name, metadata } = current;
  // The envelope goes back on in case the patch was `$patch: replace`.
  return { apiVersion, kind: name, metadata, ...strategicMerge({ ...current }, patch, kind.schema) };
}
