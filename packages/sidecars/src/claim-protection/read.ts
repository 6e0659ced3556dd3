import { hasFinalizer, type PersistentVolumeClaim } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { groupContentNameOf } from "../common/group-snapshot-names.ts";
import { CLAIM_SOURCE_FINALIZER } from "../common/names.ts";
import { contentNameOf } from "../snapshot/decide.ts";
import type { ClaimView } from "./decide.ts";

/** A claim, and every snapshot and group snapshot that may need it. */
export function readClaim({ cluster, driver, hasGroupKinds }: SidecarContext, key: string): ClaimView {
  const claim = cluster.claims.get(key);
  const nobody = { claim, ours: false, snapshots: [], groups: [], groupContents: [] };
  if (claim === undefined || !hasFinalizer(claim, CLAIM_SOURCE_FINALIZER)) return nobody;
  const volume = cluster.volumes.get(claim.spec?.volumeName ?? "")?.spec?.csi;
  if (volume !== undefined && volume.driver !== driver.info.name) return nobody;
  const snapshots = cluster.snapshots
    .byIndex("claim", key)
    .map((snapshot) => ({ snapshot, content: cluster.contents.get(contentNameOf(snapshot)) }));
  const groups = hasGroupKinds ? readGroups(cluster, claim, volume) : { groups: [], groupContents: [] };
  return { claim, ours: true, snapshots, ...groups };
}

function readGroups(
  cluster: SidecarContext["cluster"],
  { metadata: { namespace = "" } }: PersistentVolumeClaim,
  volume: { driver: string; volumeHandle: string } | undefined,
): Pick<ClaimView, "groups" | "groupContents"> {
  const groupContents =
    volume === undefined
      ? []
      : cluster.groupContents.byIndex("source", `${volume.driver}:${volume.volumeHandle}`);
  const hasContent = (name: string) => cluster.groupContents.get(name) !== undefined;
  const groups = cluster.groups
    .byIndex("namespace", namespace)
    .filter((group) => !hasContent(groupContentNameOf(group)));
  return { groups, groupContents };
}
