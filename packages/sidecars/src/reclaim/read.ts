import type { PersistentVolume } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { ifHere } from "../common/here.ts";
import type { ReclaimEffects } from "./apply.ts";
import type { ReclaimView } from "./decide.ts";

/** Reads a volume, and whatever still needs its data. */
export async function readVolume(
  from: SidecarContext,
  effects: ReclaimEffects,
  name: string,
  fresh: boolean,
): Promise<ReclaimView> {
  const { cluster, driver, here } = from;
  const volume = ifHere(here, fresh ? await cluster.volumes.refresh(name) : cluster.volumes.get(name));
  const uid = volume?.metadata.uid ?? "";
  return {
    driver: driver.info,
    volume,
    attachments: cluster.attachments.byIndex("volume", name),
    recorded: cluster.records.byIndex("uid", volume?.spec?.claimRef?.uid ?? "").length > 0,
    copied: isCopied(from, volume),
    removed: effects.removed.has(uid),
    backoffMs: effects.backoff.remaining(uid, "delete"),
  };
}

/** Whether a copy of the volume is under way. Asked only of released volumes: no other decision depends on it. */
function isCopied(
  { cluster, hasGroupKinds, hasSnapshotKinds }: SidecarContext,
  volume: PersistentVolume | undefined,
): boolean {
  const csi = volume?.spec?.csi;
  if (csi === undefined || volume?.status?.phase !== "Released") return false;
  const key = `${csi.driver}:${csi.volumeHandle}`;
  return (
    (hasSnapshotKinds && cluster.contents.byIndex("copied", key).length > 0) ||
    (hasGroupKinds && cluster.groupContents.byIndex("copied", key).length > 0)
  );
}
