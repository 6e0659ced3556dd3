import type { AttachmentTicketStatus, VolumeAttachment } from "../api/attachment.ts";
import type { Verdict } from "./view.ts";

type Status = NonNullable<VolumeAttachment["status"]>;

/** The status that says these verdicts, or undefined when the present one says them already. */
export function nextStatus(
  attachment: VolumeAttachment,
  verdicts: Readonly<Record<string, Verdict>>,
  now: Date,
): Status | undefined {
  const present = attachment.status?.attachmentTicketStatuses ?? {};
  const next: Record<string, AttachmentTicketStatus> = {};
  let counter = attachment.status?.generationCounter ?? 0;
  for (const [id, verdict] of Object.entries(verdicts)) {
    const generation = attachment.spec.attachmentTickets?.[id]?.generation ?? 0;
    counter = Math.max(counter, generation);
    next[id] = ticketStatusFrom(id, verdict, generation, present[id], now);
  }
  const unchanged =
    counter === (attachment.status?.generationCounter ?? 0) &&
    Object.keys(present).length === Object.keys(next).length &&
    Object.entries(next).every(([id, status]) => status === present[id]);
  return unchanged
    ? undefined
    : { ...attachment.status, attachmentTicketStatuses: next, generationCounter: counter };
}

function ticketStatusFrom(
  id: string,
  verdict: Verdict,
  generation: number,
  present: AttachmentTicketStatus | undefined,
  now: Date,
): AttachmentTicketStatus {
  const old = present?.conditions.find((condition) => condition.type === "Satisfied");
  const status = verdict.satisfied ? "True" : "False";
  if (
    present !== undefined &&
    present.satisfied === verdict.satisfied &&
    present.generation === generation &&
    old?.status === status &&
    old.reason === verdict.reason &&
    old.message === verdict.message
  ) {
    return present;
  }
  const lastTransitionTime =
    old?.status === status ? old.lastTransitionTime : `${now.toISOString().slice(0, 19)}Z`;
  const condition = {
    type: "Satisfied",
    status,
    reason: verdict.reason,
    message: verdict.message,
    lastTransitionTime,
  };
  return { id, satisfied: verdict.satisfied, generation, conditions: [{ ...condition, status }] };
}
