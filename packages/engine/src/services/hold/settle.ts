import { isNotFound } from "@mooring/store";
import { getAttachment } from "../../arbiter/attachment-object.ts";
import { addTicket, removeTickets } from "../../arbiter/tickets.ts";
import type { ServicesContext } from "../context.ts";
import { type Hold, type HoldPlan, nextHoldStep } from "./plan.ts";

/** The gaps after a ticket was written and after it was taken away; each service names its own. */
export interface HoldGaps {
  taken: () => void;
  released: () => void;
}

/** Makes the tickets as a plan wants them; a volume that is gone has taken its tickets along. */
export async function settleHolds(
  context: ServicesContext,
  plan: HoldPlan,
  gaps: HoldGaps,
): Promise<{ requeueAfterMs?: number }> {
  for (const hold of plan.holds) await settle(context, hold, gaps);
  return plan.afterMs === undefined ? {} : { requeueAfterMs: plan.afterMs };
}

async function settle({ store, now, signal }: ServicesContext, hold: Hold, gaps: HoldGaps): Promise<void> {
  const attachment = await getAttachment(store, hold.volume, signal);
  const present = attachment?.spec.attachmentTickets?.[hold.id];
  const step = nextHoldStep(hold, present);
  switch (step.do) {
    case "take":
      try {
        await addTicket(store, hold.volume, step.ticket, now(), signal);
        gaps.taken();
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
      return;
    case "release":
      // Only what is ours: a person's ticket may have taken the id.
      await removeTickets(store, hold.volume, (t) => t.id === hold.id && t.type === hold.type, signal);
      gaps.released();
      return;
    case "rest":
  }
}
