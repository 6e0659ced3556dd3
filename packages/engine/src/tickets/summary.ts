import { defined } from "@mooring/store";
import type { AttachmentTicket, VolumeAttachment } from "../api/attachment.ts";
import type { Volume } from "../api/volume.ts";
import { ruleOf } from "./attacher-types.ts";
import { describeMigration } from "./migration-phase.ts";
import type { TicketResult } from "./result.ts";
import { ticketsOf } from "./tickets-of.ts";

/** What `kubectl get volumeattachments.storage.mooring.dev` shows in a line. */
interface AttachmentSummary {
  state: string;
  /** The node that has the volume open; empty: none. */
  nodeID: string;
  /** Absent: the volume does not migrate. */
  migration?: string;
  satisfied: number;
  waiting: number;
  /** The holder that has the volume; empty: none. */
  holder: string;
}

/** Pure. */
export function summaryOf(
  volume: Volume,
  attachment: VolumeAttachment,
  results: Readonly<Record<string, TicketResult>>,
): AttachmentSummary {
  const holders = ticketsOf(attachment).filter(({ id }) => results[id]?.satisfied === true);
  const migration = describeMigration(volume);
  return {
    ...defined({ migration }),
    state: volume.status?.state ?? "creating",
    nodeID: volume.status?.currentNodeID ?? "",
    satisfied: holders.length,
    waiting: Object.keys(results).length - holders.length,
    holder: holderName(holders),
  };
}

/** The most important of them by name, the others by number. */
function holderName(holders: readonly AttachmentTicket[]): string {
  const [first, ...others] = [...holders].sort(
    (a, b) => ruleOf(b.type).priority - ruleOf(a.type).priority || (a.id < b.id ? -1 : 1),
  );
  if (first === undefined) return "";
  return `${nameOf(first)}${others.length === 0 ? "" : ` and ${others.length} more`}`;
}

/** An operator by name, everything else by what it does. */
export function nameOf({ id, type, parameters }: AttachmentTicket): string {
  if (type !== "longhorn-api") return type;
  return parameters?.lastAttachedBy ?? id;
}
