import {
  type ControllerSource,
  DONE,
  isConflict,
  isNotFound,
  type Outcome,
  type Reader,
  Reconciler,
  type StepFailpoints,
  type WatchedInformer,
  wait,
} from "@mooring/store";
import type { ServicesContext } from "../context.ts";
import type { TicketPlan } from "./plan.ts";
import { readTickets } from "./read.ts";
import { applyTicketStep, nextTicketStep, type TicketState, type TicketStep } from "./steps.ts";

/** What a service writes besides tickets. */
type OwnStep = { do: string };

interface TicketService<Plan extends TicketPlan, Own extends OwnStep> {
  name: string;
  /** Passed behind every step. */
  failpoints: StepFailpoints<TicketStep | Own>;
  sources: readonly ControllerSource[];
  /** Whatever else `plan` reads; volumes, attachments, pools and nodes are watched anyway. */
  watched?: readonly WatchedInformer[];
  /** Reads what the service needs, and decides about it. Undefined: no ticket of ours is affected. */
  plan(key: string, reader: Reader): Promise<Plan | undefined>;
  /** The write that the plan wants before its tickets are read. Pure. */
  ownStep?(plan: Plan): Own | undefined;
  applyOwn?(step: Own, plan: Plan): Promise<void>;
}

interface Planned<Plan> {
  plan: Plan;
  tickets: readonly TicketState[];
}

/** A data service that has tickets for volumes for as long as its plans want them. */
export function runTicketService<Plan extends TicketPlan, Own extends OwnStep = never>(
  context: ServicesContext,
  service: TicketService<Plan, Own>,
): Promise<void> {
  const { store, logger, signal, informers } = context;
  const { volumes, attachments, pools, nodes } = informers;
  const { name, failpoints, sources, watched = [] } = service;
  const isTicketStep = (step: { do: string }): step is TicketStep =>
    step.do === "take-ticket" || step.do === "release-ticket";
  return new Reconciler<Planned<Plan>, TicketStep | Own | Outcome>({
    ...{ name, store, logger, sources, backoff: { maxMs: 10_000 } },
    watched: [volumes, attachments, pools, nodes, ...watched],
    async read(key, { reader }) {
      const plan = await service.plan(key, reader);
      if (plan === undefined) return undefined;
      // Its own write comes first, and the tickets are read after it.
      if (service.ownStep?.(plan) !== undefined) return { plan, tickets: [] };
      return { plan, tickets: await readTickets(context, reader, plan) };
    },
    decide({ plan, tickets }) {
      const step = service.ownStep?.(plan) ?? nextTicketStep(tickets);
      return step ?? (plan.afterMs === undefined ? DONE : wait(plan.afterMs));
    },
    async apply(step, { plan }) {
      if (isTicketStep(step)) await applyTicketStep(context, step);
      else await service.applyOwn?.(step as Own, plan);
    },
    // Sound: outcomes are not applied.
    failpoints: (step) => failpoints(step as TicketStep | Own),
    // The volume went while its ticket was being written.
    isOutdated: (error) => isConflict(error) || isNotFound(error),
  }).run(signal);
}
