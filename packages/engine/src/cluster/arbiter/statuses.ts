import type { Condition } from "@mooring/store";
import { defined } from "@mooring/store";
import type { AttachmentTicketStatus, VolumeAttachment } from "../../api/attachment.ts";
import { digestOf, lastNumber } from "../../tickets/digest.ts";
import type { TicketResult } from "../../tickets/result.ts";
import { summaryOf } from "../../tickets/summary.ts";
import type { ArbiterView, Decision, Flaps } from "./view.ts";

type Status = NonNullable<VolumeAttachment["status"]>;

/**
 * The status with these results, or undefined when the present one has just them. All of it follows from the
 * view, so whatever else an operator has written there goes.
 */
export function nextStatus(
  { volume, attachment, now }: Pick<ArbiterView, "volume" | "attachment" | "now">,
  { results, flaps }: Pick<Decision, "results" | "flaps">,
): Status | undefined {
  const { status: present = {}, spec } = attachment;
  const statuses: Record<string, AttachmentTicketStatus> = {};
  const ticketDigests: Record<string, string> = {};
  let generationCounter = lastNumber(attachment);
  for (const [id, result] of Object.entries(results)) {
    const ticket = spec.attachmentTickets?.[id];
    const generation = ticket?.generation ?? 0;
    if (ticket !== undefined) ticketDigests[id] = digestOf(ticket);
    generationCounter = Math.max(generationCounter, generation);
    statuses[id] = ticketStatusFrom(
      id,
      result,
      { generation, present: present.attachmentTicketStatuses?.[id] },
      now,
    );
  }
  const summary = summaryOf(volume, attachment, results);
  const next: Status = {
    ...summary,
    attachmentTicketStatuses: statuses,
    generationCounter,
    ticketDigests,
    ...defined({ moves: flaps.moves }),
    conditions: [flapping(flaps, present.conditions, now)],
  };
  return sameFields(present, next) ? undefined : next;
}

function ticketStatusFrom(
  id: string,
  { satisfied, reason, message }: TicketResult,
  { generation, present }: { generation: number; present: AttachmentTicketStatus | undefined },
  now: Date,
): AttachmentTicketStatus {
  const reported = { type: "Satisfied", status: satisfied, reason, message };
  return { id, satisfied, generation, conditions: [conditionFrom(reported, present?.conditions, now)] };
}

function flapping(
  { flapping, message }: Flaps,
  present: readonly Condition[] | undefined,
  now: Date,
): Condition {
  const reason = flapping ? "MovedTooOften" : "Calm";
  return conditionFrom({ type: "Flapping", status: flapping, reason, message }, present, now);
}

/** The time of the last transition stays as long as the status does. */
function conditionFrom(
  reported: { type: string; status: boolean; reason: string; message: string },
  present: readonly Condition[] | undefined,
  now: Date,
): Condition {
  const status = reported.status ? ("True" as const) : ("False" as const);
  const old = present?.find(({ type }) => type === reported.type);
  const since = old?.status === status && !Number.isNaN(Date.parse(old.lastTransitionTime)) ? old : undefined;
  const lastTransitionTime = since?.lastTransitionTime ?? `${now.toISOString().slice(0, 19)}Z`;
  return { ...reported, status, lastTransitionTime };
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
