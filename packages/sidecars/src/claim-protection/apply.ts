import type { PersistentVolumeClaim } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { CLAIM_SOURCE_FINALIZER } from "../common/names.ts";
import { patchMetadata } from "../kube/patch.ts";

/** Takes the finalizer off. */
export async function releaseClaim(
  context: SidecarContext,
  key: string,
  claim: PersistentVolumeClaim | undefined,
): Promise<void> {
  const { cluster, store } = context;
  if (claim === undefined) return;
  await onceAtATime(context, key, async () => {
    await patchMetadata(store, cluster.claims, claim, { removeFinalizers: [CLAIM_SOURCE_FINALIZER] });
  });
}

const underWay = new WeakMap<SidecarContext, Map<string, Promise<void>>>();

/** Both controllers read a claim at the same moment; what one of them is doing, the other need not ask for again. */
function onceAtATime(context: SidecarContext, key: string, work: () => Promise<void>): Promise<void> {
  const keys = underWay.get(context) ?? new Map<string, Promise<void>>();
  underWay.set(context, keys);
  const running = keys.get(key);
  if (running !== undefined) return running;
  const begun = work().finally(() => keys.delete(key));
  keys.set(key, begun);
  return begun;
}
