import {
  ATTACHER_RULES,
  type AttachmentTicket,
  findOwnersGone,
  type JobView,
  jobFinished,
  ownerKinds,
  Snapshots,
  type VolumeAttachment,
  VolumeAttachments,
  Volumes,
} from "@mooring/engine";
import { type ObjectStore, withTimeLimit } from "@mooring/store";
import { type Check, check } from "./check.ts";

/** Longer than any ticket of a job that is over, or of an object that is gone, takes to be given back. */
const LEAKED_AFTER_MS = 5 * 60_000;
/** An operator who needs a volume for longer has most often forgotten it. */
const FORGOTTEN_AFTER_MS = 24 * 60 * 60_000;

/** Longer than the work of a job on a volume takes, unless it copies very much. */
const SLOW_AFTER_MS = 60 * 60_000;

type Objects = Pick<JobView, "volumes" | "snapshots">;

/**
 * Tickets that are not needed any more: those without owner, those whose job is over, and those that an operator forgot. And
 * those of jobs that have had their volume for so long that something is wrong.
 */
export async function ticketChecks(store: ObjectStore, now: Date): Promise<Check[]> {
  const objects: Objects = {
    volumes: new Map((await store.list(Volumes)).items.map((volume) => [volume.metadata.name, volume])),
    snapshots: new Map((await store.list(Snapshots)).items.map((item) => [item.metadata.name, item])),
  };
  const found: Check[] = [];
  for (const attachment of (await store.list(VolumeAttachments)).items) {
    found.push(...(await checksOf(store, attachment, objects, now)));
  }
  return found;
}

async function checksOf(
  store: ObjectStore,
  attachment: VolumeAttachment,
  objects: Objects,
  now: Date,
): Promise<Check[]> {
  const { volume } = attachment.spec;
  const tickets = Object.values(attachment.spec.attachmentTickets ?? {});
  const old = tickets.filter((ticket) => ageMs(ticket, now) > LEAKED_AFTER_MS);
  const gone = await findOwnersGone(store, old, ownerKinds(true), withTimeLimit(60_000));
  return old.flatMap((ticket) => {
    const { id, owner } = ticket;
    const name = `Ticket ${volume}/${id}`;
    const next = `mooring why volume/${volume}`;
    const whose = `${owner?.kind} ${owner?.name}`;
    if (gone.has(id)) return [check(name, "fail", `its owner ${whose} is gone, and the ticket is not`, next)];
    const present = objects.volumes.get(volume);
    const over =
      present === undefined ? undefined : jobFinished(ticket, { ...objects, volume: present, tickets });
    if (over !== undefined)
      return [
        check(name, "fail", `the job of ${whose} ${over}, and its ticket is not`, leftOver(volume, id)),
      ];
    if (isSlow(attachment, ticket, now)) {
      const what = `the job of ${whose} has had the volume for more than an hour and is not done`;
      return [check(name, "warn", what, next)];
    }
    return isForgotten(attachment, ticket, now) ? [forgotten(name, volume, ticket)] : [];
  });
}

/** The services give such a ticket back within moments: they do not run, or an operator wrote it by hand. */
function leftOver(volume: string, id: string): string {
  return `see that \`mooring up\`, or \`mooring driver\`, runs; else: mooring ticket rm ${volume} ${id} --force`;
}

function isSlow({ status }: VolumeAttachment, { id, type, owner }: AttachmentTicket, now: Date): boolean {
  const result = status?.attachmentTicketStatuses?.[id];
  const { workload } = ATTACHER_RULES[type] ?? { workload: true };
  if (result?.satisfied !== true || workload || owner === undefined) return false;
  return now.getTime() - Date.parse(result.conditions[0]?.lastTransitionTime ?? "") > SLOW_AFTER_MS;
}

function isForgotten({ status }: VolumeAttachment, ticket: AttachmentTicket, now: Date): boolean {
  const { id, type, expiresAt } = ticket;
  const isSatisfied = status?.attachmentTicketStatuses?.[id]?.satisfied === true;
  return (
    type === "longhorn-api" &&
    expiresAt === undefined &&
    isSatisfied &&
    ageMs(ticket, now) > FORGOTTEN_AFTER_MS
  );
}

function forgotten(name: string, volume: string, { id, createdAt, parameters }: AttachmentTicket): Check {
  const holder = parameters?.["lastAttachedBy"] ?? "an unknown user";
  const what = `${holder} has held the volume since ${createdAt}, with no end`;
  return check(name, "warn", what, `if its job is no longer needed: mooring ticket rm ${volume} ${id}`);
}

/** Without a time it may be of any age. */
function ageMs({ createdAt = "" }: AttachmentTicket, now: Date): number {
  const made = Date.parse(createdAt);
  return Number.isNaN(made) ? 0 : now.getTime() - made;
}
