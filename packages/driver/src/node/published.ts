import type { Volume } from "@mooring/engine";
import { isVolumeId } from "../objects/find.ts";
import type { NodeContext } from "./context.ts";
import { unlessDamaged } from "./damaged-record.ts";
import type { NodeRecord } from "./records.ts";

/** What is remembered of an id, of which there may be no volume any more; nothing where that is damaged. */
export async function recordOf(
  { records }: NodeContext,
  volumeId: string,
  volume: Volume | undefined,
): Promise<NodeRecord | undefined> {
  if (volume !== undefined) return records.findOf(volume).catch(unlessDamaged(undefined));
  // It becomes a file's name.
  return isVolumeId(volumeId) ? records.find(volumeId).catch(unlessDamaged(undefined)) : undefined;
}

/** Target paths of a record where something really is mounted; a record alone may be unfinished work or a reboot old. */
export async function mountedTargets(node: NodeContext, record: NodeRecord): Promise<string[]> {
  const targets: string[] = [];
  for (const path of Object.keys(record.published)) {
    if ((await node.host.mounts.at(path)).length > 0) targets.push(path);
  }
  return targets;
}

/** Whether anything of a record is mounted. */
export async function isMounted(node: NodeContext, record: NodeRecord): Promise<boolean> {
  const { staged } = record;
  if (staged?.access === "mount" && (await node.host.mounts.at(staged.path)).length > 0) return true;
  return (await mountedTargets(node, record)).length > 0;
}
