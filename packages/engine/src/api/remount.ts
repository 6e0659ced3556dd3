import type { AttachmentTicket } from "./attachment.ts";
import type { Volume } from "./volume.ts";

/** Types of tickets whose owners mount a volume, or open its device. */
const MOUNTS: ReadonlySet<AttachmentTicket["type"]> = new Set(["csi-attacher", "longhorn-api"]);

/**
 * Tickets of workloads that still have the volume mounted as it was before it asked to be mounted again: they had it
 * then, and their node has not mounted it since. The times compared are of two machines: a workload that comes within the
 * difference of their clocks is counted to one side or the other. Pure.
 */
export function remountsOwed(
  { status }: Pick<Volume, "status">,
  tickets: readonly AttachmentTicket[],
): AttachmentTicket[] {
  const { remountRequestedAt, remounted = {} } = status ?? {};
  if (remountRequestedAt === undefined) return [];
  return tickets.filter(
    ({ type, nodeID, createdAt }) =>
      MOUNTS.has(type) &&
      remounted[nodeID] !== remountRequestedAt &&
      // Without a time of its own it may be as old as any.
      !(Date.parse(createdAt ?? "") > Date.parse(remountRequestedAt)),
  );
}
