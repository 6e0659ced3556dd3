import { type PersistentVolumeClaim, parseQuantity, type StatefulSet, StatefulSets } from "@mooring/store";
import { isStandalone } from "../client/is-standalone.ts";
import type { Reading } from "./context.ts";

/**
 * The name of the StatefulSet that has this claim ask for so much: whoever lowers the claim alone sees it raised again. Only
 * the sets of standalone mode do that.
 */
export async function setThatSizes(
  { store }: Reading,
  claim: PersistentVolumeClaim,
): Promise<string | undefined> {
  const { namespace = "default", name } = claim.metadata;
  if (!/-\d+$/.test(name) || !(await isStandalone(store).catch(() => false))) return undefined;
  const { items } = await store.list(StatefulSets, { namespace });
  return items.find((set) => wants(set, claim))?.metadata.name;
}

/** It has a template for the claim, a pod of that ordinal, and asks for no less than the claim does. */
function wants({ metadata, spec }: StatefulSet, claim: PersistentVolumeClaim): boolean {
  const { name } = claim.metadata;
  const ordinal = Number(name.slice(name.lastIndexOf("-") + 1));
  const first = spec?.ordinals?.start ?? 0;
  if (ordinal < first || ordinal >= first + (spec?.replicas ?? 1)) return false;
  return (spec?.volumeClaimTemplates ?? []).some(
    (template) =>
      name === `${template.metadata?.name}-${metadata.name}-${ordinal}` && bytes(template) >= bytes(claim),
  );
}

function bytes({ spec }: Pick<PersistentVolumeClaim, "spec">): bigint {
  return parseQuantity(String(spec?.resources?.requests?.["storage"] ?? 0));
}
