import { remountsOwed, VolumeAttachments, Volumes } from "@mooring/engine";
import type { ObjectStore } from "@mooring/store";
import { type Check, check } from "./check.ts";

/** Volumes that some have mounted as they were before they failed, or were served elsewhere: programs there hang or fail. */
export async function remountChecks(store: ObjectStore): Promise<Check[]> {
  const { items } = await store.list(VolumeAttachments);
  const tickets = new Map(
    items.map(({ spec }) => [spec.volume, Object.values(spec.attachmentTickets ?? {})]),
  );
  return (await store.list(Volumes)).items.flatMap((volume) => {
    const { name } = volume.metadata;
    const nodes = new Set(remountsOwed(volume, tickets.get(name) ?? []).map(({ nodeID }) => nodeID));
    if (nodes.size === 0) return [];
    const what = `has to be mounted again on ${[...nodes].sort().join(", ")}: its mounts from before ${volume.status?.remountRequestedAt} are dead or moved`;
    return [check(`Volume ${name}`, "warn", what, `start its pods there again: mooring why volume/${name}`)];
  });
}
