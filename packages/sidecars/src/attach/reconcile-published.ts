import { delay, isDeleting } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { ATTACHED_NODE_ID } from "../common/names.ts";
import { callFailure } from "../csi/codes.ts";
import { listVolumes } from "../csi/list-volumes.ts";
import type { AttachEffects } from "./apply.ts";

/** A difference counts when it was seen that many times in a row: listing is never a picture of one moment. */
const IN_A_ROW = 2;

/**
 * Compares attachments with what the driver lists as published, and has an attachment published again when the
 * driver lists its volume without that node. A volume that is absent from the list is unknown, not detached: lists
 * of large back ends are often partial.
 */
export async function runReconciliation(
  context: SidecarContext,
  effects: AttachEffects,
  everyMs: number,
  signal: AbortSignal,
): Promise<void> {
  const { driver, logger } = context;
  const able = driver.info.can.has("LIST_VOLUMES") && driver.info.can.has("LIST_VOLUMES_PUBLISHED_NODES");
  if (!able || everyMs <= 0) return;
  const mismatches = new Map<string, number>();
  while (!signal.aborted) {
    await delay(everyMs, signal).catch(() => {});
    if (signal.aborted) return;
    try {
      compare(context, effects, await publishedNodes(context, signal), mismatches);
    } catch (error) {
      logger.warn({ error: callFailure(error).message }, "cannot list published volumes");
    }
  }
}

/** Volume handle to node ids. */
async function publishedNodes(
  { driver, timeoutMs }: SidecarContext,
  signal: AbortSignal,
): Promise<Map<string, ReadonlySet<string>>> {
  const nodes = new Map<string, ReadonlySet<string>>();
  for (const { volume, status } of await listVolumes(driver.client, { signal, timeoutMs }))
    if (volume !== undefined) nodes.set(volume.volumeId, new Set(status?.publishedNodeIds));
  return nodes;
}

function compare(
  { cluster, driver, logger }: SidecarContext,
  effects: AttachEffects,
  published: Map<string, ReadonlySet<string>>,
  mismatches: Map<string, number>,
): void {
  for (const attachment of cluster.attachments.list()) {
    const { spec, status, metadata } = attachment;
    if (spec.attacher !== driver.info.name || status?.attached !== true || isDeleting(attachment)) continue;
    const volume = cluster.volumes.get(spec.source.persistentVolumeName ?? "");
    const nodes = published.get(volume?.spec?.csi?.volumeHandle ?? "");
    const nodeId = metadata.annotations?.[ATTACHED_NODE_ID];
    const uid = metadata.uid ?? "";
    if (nodes === undefined || nodeId === undefined || nodes.has(nodeId)) {
      mismatches.delete(uid);
      continue;
    }
    const seen = (mismatches.get(uid) ?? 0) + 1;
    mismatches.set(uid, seen);
    if (seen < IN_A_ROW) continue;
    logger.warn(
      { attachment: metadata.name, nodeId },
      "the driver does not list the volume as published there",
    );
    effects.verify.add(uid);
    effects.wake(metadata.name);
  }
}
