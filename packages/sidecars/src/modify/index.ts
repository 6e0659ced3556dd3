import { keyOf, stepFailpoints } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { sidecarController } from "../common/controller.ts";
import { ifHere } from "../common/here.ts";
import { Remembered } from "../common/remembered.ts";
import { source } from "../common/source.ts";
import { ModifyEffects } from "./apply.ts";
import { decideModify, type ModifyStep, type ModifyView, modifyRequestKey, targetOf } from "./decide.ts";
import type { ModifyOptions } from "./options.ts";

const failpoints = stepFailpoints<ModifyStep>("sidecars/modify", {
  announce: true,
  modify: true,
  "write-volume": true,
  finish: true,
  report: true,
  cancel: true,
});

/** Brings volumes to the VolumeAttributesClass of their claims (KEP 3751). */
export function runModify(
  context: SidecarContext,
  given: Partial<ModifyOptions>,
  signal: AbortSignal,
): Promise<void> {
  const { cluster } = context;
  const effects = new ModifyEffects(context, { extraModifyMetadata: false, ...given }, signal);
  const remembered = new Remembered(
    (key) => cluster.claims.get(key)?.metadata.uid,
    (uid) => effects.forget(uid),
  );
  return sidecarController(context, {
    name: "modify",
    failpoints,
    sources: [source(cluster.claims, (claim) => (claim.spec?.volumeName ? [keyOf(claim)] : []))],
    watched: [cluster.volumes, cluster.attributesClasses],
    read: (key, from, fresh) => readClaim(from, effects, key, fresh),
    isGone: ({ claim }: ModifyView) => claim === undefined,
    decide: decideModify,
    apply(step: ModifyStep, view, key) {
      remembered.note(key, view.claim?.metadata.uid ?? "");
      return effects.apply(step, view);
    },
    ended: (key) => remembered.ended(key),
  }).run(signal);
}

async function readClaim(
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
