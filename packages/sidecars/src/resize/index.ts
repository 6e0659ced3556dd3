import { keyOf, type PersistentVolume, stepFailpoints } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { sidecarController } from "../common/controller.ts";
import { Remembered, uidWhile } from "../common/remembered.ts";
import { source } from "../common/source.ts";
import { ResizeEffects } from "./apply.ts";
import { decideResize, isPrepared, mayNeedResize, type ResizeStep, type ResizeView } from "./decide.ts";
import { readClaim } from "./read.ts";

const failpoints = stepFailpoints<ResizeStep>("sidecars/resize", {
  announce: true,
  expand: true,
  "assume-expanded": true,
  "write-volume": true,
  "hand-to-node": true,
  finish: true,
  "forget-pre-resize": true,
  withdraw: true,
  report: true,
});

/** Expands volumes whose claims ask for more, up to the point where the node takes over. */
export function runResize(context: SidecarContext, signal: AbortSignal): Promise<void> {
  const { cluster } = context;
  const effects = new ResizeEffects(context, signal);
  const remembered = new Remembered(
    (key) => uidWhile(mayNeedResize, cluster.claims.get(key)),
    (uid) => effects.forget(uid),
  );
  return sidecarController(context, {
    name: "resize",
    failpoints,
    sources: [
      source(cluster.claims, (claim) => (claim.spec?.volumeName ? [keyOf(claim)] : []), mayNeedResize),
      source(cluster.volumes, claimKeyOf, isPrepared),
    ],
    watched: [cluster.volumes, cluster.attachments],
    read: (key, from, fresh) => readClaim(from, effects, key, fresh),
    isGone: ({ claim, volume }: ResizeView) =>
      claim === undefined || !(mayNeedResize(claim) || (volume !== undefined && isPrepared(volume))),
    decide: decideResize,
    apply(step: ResizeStep, view, key) {
      remembered.note(key, view.claim?.metadata.uid ?? "");
      return effects.apply(step, view);
    },
    ended: (key) => remembered.ended(key),
  }).run(signal);
}

/** The claim that has the volume. */
function claimKeyOf({ spec }: PersistentVolume): string[] {
  const { name, namespace } = spec?.claimRef ?? {};
  return name === undefined || namespace === undefined ? [] : [keyOf({ metadata: { name, namespace } })];
}
