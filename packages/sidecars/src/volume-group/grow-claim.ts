import { isStatus, type PersistentVolumeClaim } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { patchObject } from "../kube/patch.ts";
import type { GrowthRefusals } from "./growth-refusals.ts";

/** Asks for the size in the claim; the resize controller does the rest. The patch insists on the claim as it was seen. */
export async function growClaim(
  { cluster, events, store }: SidecarContext,
  refusals: GrowthRefusals,
  { claim, size }: { claim: PersistentVolumeClaim; size: string },
): Promise<void> {
  const uid = claim.metadata.uid ?? "";
  try {
    const change = { metadata: {}, spec: { resources: { requests: { storage: size } } } };
    await patchObject(store, cluster.claims, claim, change);
    refusals.forget(uid);
  } catch (error) {
    // A quota or a rule of the cluster forbids it: the others do not wait for this one.
    if (!isStatus(error, "Forbidden", "Invalid", "BadRequest")) throw error;
    refusals.note(uid, size, error.message);
    events.event(claim, "Warning", "GrowthRefused", `its VolumeGroup asks for ${size}: ${error.message}`);
  }
}
