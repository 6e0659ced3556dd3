import { type CallContext, CsiError, type v1 } from "@mooring/csi";
import { failpoint } from "@mooring/store";
import { findVolume } from "../objects/find.ts";
import type { NodeContext } from "./context.ts";
import { dropDamaged } from "./drop-damaged.ts";
import { mountedAs, parsePath, removeTarget } from "./mount-points.ts";
import { mountedTargets, recordOf } from "./published.ts";

const unmounted = failpoint("driver/unstage/unmounted");
const forgotten = failpoint("driver/unstage/forgotten");

/** NodeUnstageVolume. Only ever unmounts what is this volume's; a path where it is not staged is fine. */
export async function unstageVolume(
  node: NodeContext,
  request: v1.NodeUnstageVolumeRequest,
  { signal }: CallContext,
) {
  const path = parsePath(request.stagingTargetPath, "staging_target_path");
  const { volumeId } = request;
  const volume = await findVolume(node.store, volumeId, signal);
  const record = await recordOf(node, volumeId, volume);
  if (record === undefined && volume === undefined) {
    throw CsiError.notFound(`volume "${volumeId}" does not exist`);
  }
  const ours = record?.staged?.path === path;
  const targets = record === undefined ? [] : await mountedTargets(node, record);
  if (ours && targets.length > 0) {
    throw CsiError.failedPrecondition(`the volume is still published at ${targets.join(", ")}`, {
      hint: "Unpublish it there first.",
    });
  }
  const mounted = await mountedAs(node, volumeId, path, { recorded: ours });
  if (mounted === "volume" && record?.staged?.access !== "block") {
    await node.host.mounts.unmount(path, signal);
    unmounted();
  }
  if (record !== undefined && ours) {
    if (record.staged?.made === true && mounted !== "other") await removeTarget(path);
    const { staged: _, ...rest } = record;
    // Nothing is published any more. A full disk removes what it cannot write.
    await node.records.lessen(rest, { ...rest, published: {} });
    forgotten();
  }
  if (record === undefined && volume !== undefined) await dropDamaged(node, volumeId);
  return {};
}
