import type { AttachmentTicketStatus, VolumeAttachment } from "../api/attachment.ts";
import { summaryOf } from "./summary.ts";
import type { ArbiterView, Verdict } from "./view.ts";

type Status = NonNullable<VolumeAttachment["status"]>;

/**
 * The status that says these verdicts, or undefined when the present one says just that. All of it follows from the
 * view, so whatever else a person has written there goes.
 */
export function nextStatus(
  { volume, attachment, now }: Pick<ArbiterView, "volume" | "attachment" | "now">,
  verdicts: Readonly<Record<string, Verdict>>,
): Status | undefined {
  const { status: present = {}, spec } = attachment;
  const statuses: Record<string, AttachmentTicketStatus> = {};
  let generationCounter = Math.max(0, present.generationCounter ?? 0);
  for (const [id, verdict] of Object.entries(verdicts)) {
    const generation = spec.attachmentTickets?.[id]?.generation ?? 0;
    generationCounter = Math.max(generationCounter, generation);
    statuses[id] = ticketStatusFrom(id, verdict, generation, present.attachmentTicketStatuses?.[id], now);
  }
  const summary = summaryOf(volume, attachment, verdicts);
  const next: Status = { ...summary, attachmentTicketStatuses: statuses, generationCounter };
  return sameFields(present, next) ? undefined : next;
}

function ticketStatusFrom(
  id: string,
  { satisfied, reason, message }: Verdict,
  generation: number,
  present: AttachmentTicketStatus | undefined,
  now: Date,
): AttachmentTicketStatus {
  const status = satisfied ? ("True" as const) : ("False" as const);
  const old = present?.conditions?.find((condition) => condition.type === "Satisfied");
  const since = old?.status === status && !Number.isNaN(Date.parse(old.lastTransitionTime)) ? old : undefined;
  const lastTransitionTime = since?.lastTransitionTime ?? `${now.toISOString().slice(0, 19)}Z`;
  const condition = { type: "Satisfied", status, reason, message, lastTransitionTime };
  return { id, satisfied, generation, conditions: [condition] };
}

/** Equal whatever the order of the fields, which a store may change. */
function sameFields(a: unknown, b: unknown): boolean {
  return canonical(a) === canonical(b);
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([x], [y]) => (x < y ? -1 : 1)))
      : part,
  );
}
