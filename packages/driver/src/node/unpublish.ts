import { type CallContext, CsiError, type v1 } from "@mooring/csi";
import type { MountEntry, Volume } from "@mooring/engine";
import { failpoint } from "@mooring/store";
import { findVolume } from "../controller/objects.ts";
import { isVolumeId } from "../names.ts";
import { attachedHere, type NodeContext } from "./context.ts";
import { parsePath, removeTarget } from "./paths.ts";
import { isMountOf } from "./stage.ts";
import { setDeviceReadOnly } from "./tuning.ts";

const unmounted = failpoint("driver/unpublish/unmounted");
const removed = failpoint("driver/unpublish/target-removed");
const forgotten = failpoint("driver/unpublish/forgotten");

/** NodeUnpublishVolume: unmounts the target and removes it. A target that was never published is fine. */
export async function unpublishOnNode(
  node: NodeContext,
  request: v1.NodeUnpublishVolumeRequest,
  { signal }: CallContext,
) {
  const target = parsePath(request.targetPath, "target_path");
  const { volumeId } = request;
  const record = isVolumeId(volumeId) ? await node.records.find(volumeId) : undefined;
  const volume = await findVolume(node.store, volumeId, signal);
  if (record === undefined && volume === undefined) {
    throw CsiError.notFound(`volume "${volumeId}" does not exist`);
  }
  const published = record?.published[target];
  const top = (await node.host.mounts.at(target)).at(-1);
  if (top !== undefined) {
    if (published === undefined && !(await isOurs(volume, top))) {
      throw CsiError.failedPrecondition(
        `what is mounted at ${target} is not volume "${volumeId}"; it is left alone`,
      );
    }
    await node.host.mounts.unmount(target, signal);
    unmounted();
  }
  if (volume !== undefined && published?.access === "block" && published.readOnly) await unlock(node, volume);
  // Without a record, a mount of ours tells that the mount point was ours as well.
  const made = published?.made ?? top !== undefined;
  if (made) await removeTarget(target);
  removed();
  if (record !== undefined && published !== undefined) {
    const { [target]: _, ...rest } = record.published;
    await node.records.put({ ...record, published: rest });
    forgotten();
  }
  return {};
}

/** The device may be gone already, and then there is nothing to unlock. */
async function unlock(node: NodeContext, volume: Volume): Promise<void> {
  const attached = await attachedHere(node, volume).catch(() => undefined);
  if (attached?.kind === "device") await setDeviceReadOnly(node.host.exec, attached.path, false);
}

/** Without a record of ours (it was lost, or another version wrote it) the mount itself has to say whose it is. */
async function isOurs(volume: Volume | undefined, entry: MountEntry): Promise<boolean> {
  if (volume === undefined) return false;
  const device = volume.status?.device?.replace(/^\/dev\//, "") ?? "";
  return (await isMountOf(volume, entry)) || (device !== "" && entry.root === `/${device}`);
}
