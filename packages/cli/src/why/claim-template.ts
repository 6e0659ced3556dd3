import { type PersistentVolumeClaim, parseQuantity, StatefulSets } from "@mooring/store";
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
  if (!(await isStandalone(store).catch(() => false))) return undefined;
  const found = await setThatMakes({ store }, claim);
  return found !== undefined && bytes(found.template) >= bytes(claim) ? found.set : undefined;
}

/** The StatefulSet that makes this claim again when it is gone, the pod that has it, and its template. */
export async function setThatMakes(
  { store }: Reading,
  { metadata: { namespace = "default", name } }: PersistentVolumeClaim,
): Promise<{ set: string; pod: string; template: Template } | undefined> {
  if (!/-\d+$/.test(name)) return undefined;
  const { items } = await store.list(StatefulSets, { namespace });
  for (const { metadata, spec } of items) {
    const ordinal = Number(name.slice(name.lastIndexOf("-") + 1));
    const first = spec?.ordinals?.start ?? 0;
    if (ordinal < first || ordinal >= first + (spec?.replicas ?? 1)) continue;
    const pod = `${metadata.name}-${ordinal}`;
    const template = spec?.volumeClaimTemplates?.find((each) => name === `${each.metadata?.name}-${pod}`);
    if (template !== undefined) return { set: metadata.name, pod, template };
  }
  return undefined;
}

type Template = Pick<PersistentVolumeClaim, "spec">;

function bytes({ spec }: Template): bigint {
  return parseQuantity(String(spec?.resources?.requests?.["storage"] ?? 0));
}
