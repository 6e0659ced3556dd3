import type { NodeContext } from "./context.ts";
import { DamagedRecord } from "./damaged-record.ts";
import { isMountedHere } from "./mount-points.ts";

/**
 * Removes the record if it is damaged and the kernel shows the volume mounted nowhere: then there is nothing that it would have
 * had to remember. While it is mounted, only what undoes the mounts goes without it, by what mountinfo shows.
 */
export async function dropDamaged(node: NodeContext, volumeId: string): Promise<void> {
  const damaged = await node.records.find(volumeId).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(damaged instanceof DamagedRecord) || (await isMountedHere(node, volumeId))) return;
  const { file } = damaged;
  node.logger.warn({ volume: volumeId, file }, "the record of a volume was damaged, and begins anew");
  await node.records.forget(volumeId, async () => false);
}
