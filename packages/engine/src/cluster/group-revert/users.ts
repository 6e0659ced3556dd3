import { listAll, type ObjectStore, Pods } from "@mooring/store";
import type { VolumeAttachment } from "../../api/attachment.ts";
import type { RevertMember } from "../../api/group-revert.ts";

/** Who has a volume besides the restore itself: tickets with their nodes, and the pods behind them. */
export function usersOf(
  attachment: VolumeAttachment | undefined,
  own: string,
  pods: readonly string[],
): string[] {
  const tickets = Object.values(attachment?.spec.attachmentTickets ?? {}).filter(({ id }) => id !== own);
  if (tickets.length === 0) return [];
  const named = tickets.map(({ id, nodeID }) => `ticket ${id} on node ${nodeID}`).sort();
  return [...pods.map((pod) => `pod ${pod}`), ...named];
}

/**
 * By claim: the pods of the namespace that use it. For messages only, and read when a ticket has the volume: where
 * pods may not be read the tickets still show who it is.
 */
export async function podsByClaim(
  store: ObjectStore,
  namespace: string,
  members: readonly RevertMember[],
): Promise<Map<string, string[]>> {
  const users = new Map<string, string[]>(members.map(({ claim }) => [claim, []]));
  const pods = await listAll(store, Pods, { namespace }).catch(() => undefined);
  for (const { metadata, spec, status } of pods?.items ?? []) {
    if (status?.phase === "Succeeded" || status?.phase === "Failed") continue;
    for (const { persistentVolumeClaim } of spec?.volumes ?? []) {
      users.get(persistentVolumeClaim?.claimName ?? "")?.push(metadata.name);
    }
  }
  return users;
}
