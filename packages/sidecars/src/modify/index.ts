import { keyOf, stepFailpoints } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { sidecarController } from "../common/controller.ts";
import { Remembered, uidWhile } from "../common/remembered.ts";
import { source } from "../common/source.ts";
import { ModifyEffects } from "./apply.ts";
import { decideModify, type ModifyStep, type ModifyView, mayNeedModify } from "./decide.ts";
import type { ModifyOptions } from "./options.ts";
import { readClaim } from "./read.ts";

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
    (key) => uidWhile(mayNeedModify, cluster.claims.get(key)),
    (uid) => effects.forget(uid),
  );
  return sidecarController(context, {
    name: "modify",
    failpoints,
    sources: [
      source(cluster.claims, (claim) => (claim.spec?.volumeName ? [keyOf(claim)] : []), mayNeedModify),
    ],
    watched: [cluster.volumes, cluster.attributesClasses],
    read: (key, from, fresh) => readClaim(from, effects, key, fresh),
    isGone: ({ claim }: ModifyView) => claim === undefined || !mayNeedModify(claim),
    decide: decideModify,
    apply(step: ModifyStep, view, key) {
      remembered.note(key, view.claim?.metadata.uid ?? "");
      return effects.apply(step, view);
    },
    ended: (key) => remembered.ended(key),
  }).run(signal);
}
