import type { SidecarContext } from "../common/context.ts";
import { ifHere } from "../common/here.ts";
import type { ModifyEffects } from "./apply.ts";
import { type ModifyView, modifyRequestKey, targetOf } from "./decide.ts";

/** Reads a claim, its volume and the class that it is to have, and what earlier calls have returned. */
export async function readClaim(
  { cluster, driver, here }: SidecarContext,
  effects: ModifyEffects,
  key: string,
  fresh: boolean,
): Promise<ModifyView> {
  const claim = fresh ? await cluster.claims.refresh(key) : cluster.claims.get(key);
  const name = claim?.spec?.volumeName ?? "";
  const found = fresh && name !== "" ? await cluster.volumes.refresh(name) : cluster.volumes.get(name);
  const volume = ifHere(here, found);
  const uid = claim?.metadata.uid ?? "";
  const result = effects.results.get(uid);
  const target = claim === undefined ? undefined : targetOf(claim, result);
  const attributesClass = target === undefined ? undefined : cluster.attributesClasses.get(target);
  const view = { driver: driver.info, claim, volume, attributesClass, result, backoffMs: 0 };
  return { ...view, backoffMs: effects.backoff.remaining(uid, modifyRequestKey(view)) };
}
