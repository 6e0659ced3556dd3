import { type CallContext, CsiError, type v1 } from "@mooring/csi";
import { isServed, type Volume } from "@mooring/engine";
import { isReadOnlyUse, parseCapability } from "../request/capability.ts";
import type { NodeContext } from "./context.ts";
import { mountedAs, parsePath } from "./mount-points.ts";
import type { NodeRecord } from "./records.ts";
import { stageRecord, stageVolume } from "./stage.ts";

interface Publishing {
  volume: Volume;
  record: NodeRecord;
  /** Where the volume is published now. */
  mounted: readonly string[];
}

/**
 * A file system that has failed is repaired when its device is closed, which its staging mount prevents. A kubelet unstages only
 * when no pod wants the volume: of a Deployment there is always one. So when nobody has it published any more, the next
 * publication takes the mount away, and makes it again after the repair. Returns what is recorded then.
 */
export async function restageAfterFault(
  node: NodeContext,
  { volume, record, mounted }: Publishing,
  request: v1.NodePublishVolumeRequest,
  call: CallContext,
): Promise<NodeRecord> {
  const { staged } = record;
  if (staged?.access !== "mount" || isServed(volume) || mounted.length > 0) return record;
  const isThere = (await mountedAs(node, volume.metadata.name, staged.path, { recorded: true })) === "volume";
  if (volume.status?.robustness === "faulted") {
    if (!isThere) return record;
    // First the record: a mount that is gone without it counts as taken away by somebody else.
    await node.records.put({ ...record, staged: { ...staged, released: true } });
    await node.host.mounts.unmount(staged.path, call.signal);
    throw CsiError.unavailable(
      `the file system of volume "${volume.metadata.name}" has failed and is repaired first`,
      {
        hint: "Repeat the call.",
      },
    );
  }
  if (staged.released !== true || isThere || !isTheSame(request, staged)) return record;
  await stageVolume(node, request, call);
  return node.records.of(volume);
}

/** Published as it was staged: what is mounted again is what the caller knows to be mounted. */
function isTheSame(
  { stagingTargetPath, volumeCapability, publishContext }: v1.NodePublishVolumeRequest,
  staged: NonNullable<NodeRecord["staged"]>,
): boolean {
  const path = parsePath(stagingTargetPath, "staging_target_path");
  const capability = parseCapability(volumeCapability, "volume_capability");
  return (
    stageRecord(path, capability, isReadOnlyUse(capability, publishContext)).arguments === staged.arguments
  );
}
