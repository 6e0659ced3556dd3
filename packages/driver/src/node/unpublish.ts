import { type CallContext, CsiError, type v1 } from "@mooring/csi";
import { setDeviceReadOnly, type Volume } from "@mooring/engine";
import { failpoint } from "@mooring/store";
import { findVolume } from "../objects/find.ts";
import { attachedHere, type NodeContext } from "./context.ts";
import { mountedAs, parsePath, removeTarget } from "./mount-points.ts";
import { recordOf } from "./published.ts";

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
  const volume = await findVolume(node.store, volumeId, signal);
  const record = await recordOf(node, volumeId, volume);
  if (record === undefined && volume === undefined) {
    throw CsiError.notFound(`volume "${volumeId}" does not exist`);
  }
  const published = record?.published[target];
  const asDevice = published?.access === "block";
  const mounted = await mountedAs(node, volumeId, target, {
    recorded: published !== undefined,
    asDevice,
  });
  if (mounted === "other" && published === undefined) {
    throw CsiError.failedPrecondition(
      `what is mounted at ${target} is not volume "${volumeId}"; it is left alone`,
    );
  }
  if (mounted === "volume") {
    await node.host.mounts.unmount(target, signal);
    unmounted();
  }
  if (volume !== undefined && published?.access === "block" && published.readOnly) {
    // The device is the same for all targets: it goes on refusing writes until the last of its readers has left.
    const { [target]: _, ...others } = record?.published ?? {};
    if (!Object.values(others).some(({ readOnly }) => readOnly)) await unlock(node, volume);
  }
  // Without a record, a mount of ours shows that the mount point was ours as well.
  const made = published?.made ?? mounted === "volume";
  if (made && mounted !== "other") await removeTarget(target);
  removed();
  if (record !== undefined && published !== undefined) {
    const { [target]: _, ...rest } = record.published;
    await node.records.lessen({ ...record, published: rest });
    forgotten();
  }
  if (volume !== undefined) await node.ioLimits?.follow(volume);
  return {};
}

/** The device may be gone already, and then there is nothing to unlock. */
async function unlock(node: NodeContext, volume: Volume): Promise<void> {
  const attached = await attachedHere(node, volume).catch(() => undefined);
  if (attached?.kind === "device") await setDeviceReadOnly(node.host.exec, attached.path, false);
}
