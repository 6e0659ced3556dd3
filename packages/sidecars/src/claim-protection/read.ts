import { hasFinalizer, type PersistentVolumeClaim } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { CLAIM_SOURCE_FINALIZER } from "../common/names.ts";
import { contentNameOf } from "../snapshot/decide.ts";
import type { ClaimView } from "./decide.ts";

/** Whether the claim has our finalizer, which snapshots alone set. */
export const isProtected = (claim: PersistentVolumeClaim): boolean =>
  hasFinalizer(claim, CLAIM_SOURCE_FINALIZER);

/** A claim, and every snapshot that may need it. */
export function readClaim({ cluster, driver }: SidecarContext, key: string): ClaimView {
  const claim = cluster.claims.get(key);
  const notOurs = { claim, ours: false, snapshots: [] };
  if (claim === undefined || !isProtected(claim)) return notOurs;
  const volume = cluster.volumes.get(claim.spec?.volumeName ?? "")?.spec?.csi;
  if (volume !== undefined && volume.driver !== driver.info.name) return notOurs;
  const snapshots = cluster.snapshots
    .byIndex("claim", key)
    .map((snapshot) => ({ snapshot, content: cluster.contents.get(contentNameOf(snapshot)) }));
  return { claim, ours: true, snapshots };
}
