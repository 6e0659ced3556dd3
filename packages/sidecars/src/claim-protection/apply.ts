import type { PersistentVolumeClaim } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { CLAIM_SOURCE_FINALIZER } from "../common/names.ts";
import { patchMetadata } from "../kube/patch.ts";

/** Takes the finalizer off. */
export async function releaseClaim(
  { cluster, store }: SidecarContext,
  claim: PersistentVolumeClaim | undefined,
): Promise<void> {
  if (claim === undefined) return;
  await patchMetadata(store, cluster.claims, claim, { removeFinalizers: [CLAIM_SOURCE_FINALIZER] });
}
