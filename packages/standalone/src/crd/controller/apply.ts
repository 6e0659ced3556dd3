import type { ObjectStore, WrittenCache } from "@mooring/store";
import { deleteObjects, release } from "../clean-up.ts";
import { type CustomResourceDefinition, CustomResourceDefinitions } from "../types.ts";
import type { DefinitionStep } from "./decide.ts";
import type { ServedKinds } from "./served-kinds.ts";

interface DefinitionEffects {
  store: ObjectStore;
  definitions: WrittenCache<CustomResourceDefinition>;
  served: ServedKinds;
  signal: AbortSignal;
}

/** Makes one visible change for a CustomResourceDefinition. */
export async function applyStep(
  step: DefinitionStep,
  name: string,
  crd: CustomResourceDefinition | undefined,
  { store, definitions, served, signal }: DefinitionEffects,
): Promise<void> {
  if (crd === undefined) return;
  const writeStatus = async (status: NonNullable<CustomResourceDefinition["status"]>) => {
    const options = { signal, fieldManager: "mooring-crd" };
    const next = { ...structuredClone(crd), status };
    definitions.wrote(await store.updateStatus(CustomResourceDefinitions, next, options));
  };
  switch (step.do) {
    case "serve":
      return served.serve(crd);
    case "write-status":
    case "mark-terminating":
      return writeStatus(step.status);
    case "freeze":
      return served.freeze(crd);
    case "delete-objects": {
      const { resource } = served.get(name) ?? {};
      if (resource !== undefined) await deleteObjects(store, resource, signal);
      return;
    }
    case "release": {
      served.withdraw(name);
      const left = await release(store, name, signal);
      if (left === undefined) definitions.gone(crd);
      else definitions.deleted(left);
    }
  }
}
