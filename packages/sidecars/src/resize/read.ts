import type { SidecarContext } from "../common/context.ts";
import { ifHere } from "../common/here.ts";
import type { ResizeEffects } from "./apply.ts";
import { type ResizeView, resizeRequestKey } from "./decide.ts";

/** Reads a claim, its volume, the nodes that have it, and what earlier calls have returned. */
export async function readClaim(
  { cluster, driver, here }: SidecarContext,
  effects: ResizeEffects,
  key: string,
  fresh: boolean,
): Promise<ResizeView> {
  const claim = fresh ? await cluster.claims.refresh(key) : cluster.claims.get(key);
  const name = claim?.spec?.volumeName ?? "";
  const volume = fresh && name !== "" ? await cluster.volumes.refresh(name) : cluster.volumes.get(name);
  const uid = claim?.metadata.uid ?? "";
  const view: ResizeView = {
    driver: driver.info,
    claim,
    volume: ifHere(here, volume),
    attachedTo: cluster.attachments.byIndex("volume", name).map(({ spec }) => spec.nodeName),
    result: effects.results.get(uid),
    backoffMs: 0,
  };
  return { ...view, backoffMs: effects.backoff.remaining(uid, () => resizeRequestKey(view)) };
}
