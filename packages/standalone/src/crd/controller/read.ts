import { isDeleting, listAll, type ObjectStore, type ReadContext, type WrittenCache } from "@mooring/store";
import type { CustomResourceDefinition } from "../types.ts";
import type { DefinitionView } from "./decide.ts";
import type { ServedKinds } from "./served-kinds.ts";

interface DefinitionReads {
  store: ObjectStore;
  definitions: WrittenCache<CustomResourceDefinition>;
  served: ServedKinds;
}

/** A definition, those that it shares names with, and what is left of its kind when it goes. */
export async function readDefinition(
  name: string,
  { store, definitions, served }: DefinitionReads,
  { reader, fresh, signal }: ReadContext,
): Promise<DefinitionView> {
  if (fresh) await definitions.refresh(name);
  const noted = reader.over(definitions);
  const crd = noted.get(name);
  const here = served.get(name);
  const goes = crd !== undefined && isDeleting(crd);
  // No watch delivers objects of a kind that goes: they are counted again and again.
  const items = goes && here?.frozen === true ? (await listAll(store, here.resource, { signal })).items : [];
  return {
    crd,
    others: crd === undefined || goes ? [] : noted.byIndex("group", crd.spec.group).filter(isAnother(name)),
    served: here && {
      isCurrent: crd !== undefined && served.isCurrent(crd),
      isFrozen: here.frozen,
    },
    left: { all: items.length, undeleted: items.filter((object) => !isDeleting(object)).length },
    now: new Date().toISOString().replace(/\.\d+Z$/, "Z"),
  };
}

function isAnother(name: string): (other: CustomResourceDefinition) => boolean {
  return ({ metadata }) => metadata.name !== name;
}
