import {
  type Condition,
  isNotFound,
  listAll,
  mutate,
  type ObjectStore,
  type Resource,
  type ResourceDefinition,
  StatusError,
} from "@mooring/store";
import { setCondition } from "./names.ts";
import { CLEANUP_FINALIZER, type CustomResourceDefinition, CustomResourceDefinitions } from "./types.ts";

/** The conditions of a definition whose objects are being deleted. `now`: RFC 3339. */
export function terminating(crd: CustomResourceDefinition, now: string): Condition[] {
  const condition = {
    type: "Terminating",
    status: "True",
    reason: "InstanceDeletionInProgress",
    message: "CustomResource deletion is in progress",
  } as const;
  return setCondition(crd.status?.conditions ?? [], condition, now);
}

/** Objects can go but not come: one that came late would be there again with the next definition of that name. */
export function frozen(definition: ResourceDefinition): ResourceDefinition {
  const create = (): never => {
    const message = "create not allowed while custom resource definition is terminating";
    throw new StatusError("MethodNotAllowed", message);
  };
  return { ...definition, strategy: { ...definition.strategy, create } };
}

/** Deletes every object of the kind; some may still be there then, waiting for their finalizers. */
export async function deleteObjects(
  store: ObjectStore,
  resource: Resource,
  signal: AbortSignal,
): Promise<void> {
  const { items } = await listAll(store, resource, { signal });
  for (const { metadata } of items) {
    const { namespace, name } = metadata;
    const key = namespace === undefined ? { name } : { namespace, name };
    try {
      await store.delete(resource, key, { propagationPolicy: "Background", signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

/** Removes our finalizer. Resolves with what is left of the definition; other finalizers may keep it. */
export async function release(
  store: ObjectStore,
  name: string,
  signal: AbortSignal,
): Promise<CustomResourceDefinition | undefined> {
  const withoutFinalizer = (crd: CustomResourceDefinition): CustomResourceDefinition => {
    const finalizers = (crd.metadata.finalizers ?? []).filter((finalizer) => finalizer !== CLEANUP_FINALIZER);
    return { ...crd, metadata: { ...crd.metadata, finalizers } };
  };
  try {
    return await mutate(store, CustomResourceDefinitions, { name }, { change: withoutFinalizer, signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return undefined;
  }
}
