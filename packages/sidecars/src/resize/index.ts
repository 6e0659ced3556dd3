import { keyOf, stepFailpoints } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { sidecarController } from "../common/controller.ts";
import { Remembered } from "../common/remembered.ts";
import { source } from "../common/source.ts";
import { ResizeEffects } from "./apply.ts";
import { decideResize, type ResizeStep, type ResizeView } from "./decide.ts";
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
    (key) => cluster.claims.get(key)?.metadata.uid,
    (uid) => effects.forget(uid),
  );
  return sidecarController(context, {
    name: "resize",
    failpoints,
    sources: [source(cluster.claims, (claim) => (claim.spec?.volumeName ? [keyOf(claim)] : []))],
    watched: [cluster.volumes, cluster.attachments],
    read: (key, from, fresh) => readClaim(from, effects, key, fresh),
    isGone: ({ claim }: ResizeView) => claim === undefined,
    decide: decideResize,
    apply(step: ResizeStep, view, key) {
      remembered.note(key, view.claim?.metadata.uid ?? "");
      return effects.apply(step, view);
    },
    ended: (key) => remembered.ended(key),
  }).run(signal);
}
