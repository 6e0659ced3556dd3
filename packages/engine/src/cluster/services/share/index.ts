import { source, stepFailpoints } from "@mooring/store";
import { isServed } from "../../../api/volume.ts";
import type { ServicesContext } from "../context.ts";
import { runTicketService } from "../tickets/run-ticket-service.ts";
import { TICKET_STEPS, type TicketStep } from "../tickets/steps.ts";
import { Absences } from "./absences.ts";
import { applyShareStep } from "./apply.ts";
import { nextShareStep, type ShareStep } from "./decide.ts";
import { type PlannedShare, planShare } from "./read.ts";

const failpoints = stepFailpoints<TicketStep | ShareStep>("engine/services/share", {
  ...TICKET_STEPS,
  "record-share": true,
  "remove-share": true,
});

/** Gives every volume that many nodes use a node that serves it, and a ticket there while any node uses it. */
export function runShares(context: ServicesContext): Promise<void> {
  const { volumes, shares } = context.informers;
  const absences = new Absences(() => performance.now());
  return runTicketService<PlannedShare, ShareStep>(context, {
    name: "cluster/share",
    failpoints,
    sources: [
      source(volumes, (volume) => (isServed(volume) ? [volume.metadata.name] : [])),
      source(shares, ({ metadata }) => [metadata.name]),
    ],
    plan: (name, reader) => planShare(context, absences, reader, name),
    ownStep: nextShareStep,
    applyOwn: (step, plan) => applyShareStep(context, step, plan),
  });
}
