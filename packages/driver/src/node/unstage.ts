import { type CallContext, CsiError, type v1 } from "@mooring/csi";
import { failpoint } from "@mooring/store";
import { findVolume } from "../controller/objects.ts";
import { isVolumeId } from "../names.ts";
import type { NodeContext } from "./context.ts";
import { parsePath, removeTarget } from "./paths.ts";
import { mountedTargets } from "./published.ts";
import { isMountOf } from "./stage.ts";

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
  const record = isVolumeId(volumeId) ? await node.records.find(volumeId) : undefined;
  const volume = await findVolume(node.store, volumeId, signal);
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
  const top = (await node.host.mounts.at(path)).at(-1);
  const known = ours || (top !== undefined && volume !== undefined && (await isMountOf(volume, top)));
  if (top !== undefined && known && record?.staged?.access !== "block") {
    await node.host.mounts.unmount(path, signal);
    unmounted();
  }
  if (record !== undefined && ours) {
    if (record.staged?.made === true) await removeTarget(path);
    const { staged: _, ...rest } = record;
    await node.records.put(rest);
    forgotten();
  }
  return {};
}
