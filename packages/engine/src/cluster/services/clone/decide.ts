import { isDeleting } from "@mooring/store";
import type { Volume } from "../../../api/volume.ts";
import { CLONE_WAITING } from "../../../tickets/attacher-types.ts";
import { noTicket, type TicketPlan, ticketFor, type WantedTicket } from "../tickets/plan.ts";

const TYPE = "volume-clone-controller";
/** Failures that trying again does not repair. */
export const FINAL: ReadonlySet<string> = new Set([
  "INVALID_ARGUMENT",
  "OUT_OF_RANGE",
  "NOT_FOUND",
  "DATA_LOSS",
]);

/** Everything that the tickets of a copy depend on. */
export interface CloneView {
  /** A volume that is made from another. */
  target: Volume;
  /** Undefined when it is gone. */
  source: Volume | undefined;
}

/**
 * Until the copy is made both volumes have tickets, with the same id: the source where it is, beside its
 * workload or without one; the target out of reach of workloads. A clone whose last attempt failed is waiting, and
 * gives the source up for a workload on another node. Pure.
 */
export function decide({ target, source }: CloneView): TicketPlan {
  const { name } = target.metadata;
  const from = target.spec.source?.name ?? "";
  const none = [noTicket(from, TYPE, name), noTicket(name, TYPE, name)];
  if (source === undefined || !isUnderWay(target) || !canBeCopied(source, target)) return { tickets: none };
  const parameters = { [CLONE_WAITING]: String(target.status?.error !== undefined) };
  const ticket = (volume: Volume, frontend: "any" | "hidden"): WantedTicket =>
    ticketFor({ volume, type: TYPE, owner: target, frontend, parameters, name });
  return { tickets: [ticket(source, "any"), ticket(target, "hidden")] };
}

function isUnderWay({ metadata, status }: Volume): boolean {
  const made = status?.size !== undefined;
  return !made && metadata.deletionTimestamp === undefined && !FINAL.has(status?.error?.code ?? "");
}

function canBeCopied(source: Volume, target: Volume): boolean {
  const { size, robustness } = source.status ?? {};
  const whole = size !== undefined && robustness !== "faulted";
  return whole && !isDeleting(source) && source.spec.pool === target.spec.pool;
}
