import { CsiError } from "@mooring/csi";
import { isServed, type Volume } from "@mooring/engine";
import type { NodeContext } from "./context.ts";
import { mountedAs } from "./mount-points.ts";
import type { NodeRecord, StageRecord } from "./records.ts";

interface Publishing {
  volume: Volume;
  record: NodeRecord;
  /** Where the volume is published now. */
  mounted: readonly string[];
  /** How it would be staged for what is asked for. */
  wanted: StageRecord;
  /** Stages it so. */
  stage(): Promise<unknown>;
  signal: AbortSignal;
}

/**
 * A file system that has failed is repaired when its device is closed, which its staging mount prevents. A kubelet unstages only
 * when no pod wants the volume: of a Deployment there is always one. So when nobody has it published any more, the next
 * publication takes the mount away, and makes it again after the repair. Returns what is recorded then.
 */
export async function restageAfterFault(
  node: NodeContext,
  { volume, record, mounted, wanted, stage, signal }: Publishing,
): Promise<NodeRecord> {
  const { staged } = record;
  if (staged?.access !== "mount" || isServed(volume) || mounted.length > 0) return record;
  const isFaulted = volume.status?.robustness === "faulted";
  if (!isFaulted && staged.released !== true) return record;
  const isThere = (await mountedAs(node, volume.metadata.name, staged.path, { recorded: true })) === "volume";
  if (isFaulted) {
    if (!isThere) return record;
    // First the record: a mount that is gone without it counts as taken away by somebody else.
    await node.records.put({ ...record, staged: { ...staged, released: true } });
    await node.host.mounts.unmount(staged.path, signal);
    throw CsiError.unavailable(
      `the file system of volume "${volume.metadata.name}" has failed and is repaired first`,
      {
        hint: "Repeat the call.",
      },
    );
  }
  // Published as it was staged: what is mounted again is what the caller knows to be mounted.
  if (isThere || wanted.arguments !== staged.arguments) return record;
  await stage();
  return node.records.of(volume);
}
