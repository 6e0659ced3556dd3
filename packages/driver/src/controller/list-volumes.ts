import type { CallContext, v1 } from "@mooring/csi";
import { getAttachment } from "@mooring/engine";
import type { DriverContext } from "../context.ts";
import { conditionResponse } from "../health/condition.ts";
import { findPool, getVolume, positionOf } from "../objects/find.ts";
import { publishedNodes } from "../objects/published-nodes.ts";
import { paginate } from "../paging/token.ts";
import { volumeResponse } from "./responses.ts";

/** ListVolumes, with the nodes each is published to and its condition; in order of creation. */
export async function listVolumes(
  driver: DriverContext,
  request: v1.ListVolumesRequest,
  { signal }: CallContext,
) {
  const [volumes, attachments, pools] = await Promise.all([
    driver.lists.volumes.get(signal),
    driver.lists.attachments.get(signal),
    driver.lists.pools.get(signal),
  ]);
  // A volume that was never finished has not been returned to any caller yet.
  const made = volumes.filter((volume) => volume.status?.size !== undefined);
  const page = paginate(made, positionOf, request);
  const listed = new Set(page.items.map(({ metadata }) => metadata.name));
  const wanted = attachments.filter(({ metadata }) => listed.has(metadata.name));
  const attachmentOf = new Map(wanted.map((attachment) => [attachment.metadata.name, attachment]));
  const poolOf = new Map(pools.map((pool) => [pool.metadata.name, pool]));
  const entries = page.items.map((volume) => {
    const pool = poolOf.get(volume.spec.pool);
    const publishedNodeIds = publishedNodes(attachmentOf.get(volume.metadata.name));
    const status = { publishedNodeIds, volumeCondition: conditionResponse(volume, pool) };
    return { volume: volumeResponse(volume, pool), status };
  });
  return { entries, nextToken: page.nextToken ?? "" };
}

/** ControllerGetVolume: what ListVolumes returns, for one volume. */
export async function getVolumeStatus(
  driver: DriverContext,
  { volumeId }: v1.ControllerGetVolumeRequest,
  { signal }: CallContext,
) {
  const volume = await getVolume(driver.store, volumeId, signal);
  const pool = await findPool(driver.store, volume.spec.pool, signal);
  const attachment = await getAttachment(driver.store, volumeId, signal);
  return {
    volume: volumeResponse(volume, pool),
    status: {
      publishedNodeIds: publishedNodes(attachment),
      volumeCondition: conditionResponse(volume, pool),
    },
  };
}
