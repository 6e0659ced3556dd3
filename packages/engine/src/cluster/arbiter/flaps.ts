import { createHash } from "node:crypto";
import { defined } from "@mooring/store";
import type { AttachmentTicket, VolumeMoves } from "../../api/attachment.ts";
import type { TicketResult } from "../../tickets/result.ts";
import { ineligible } from "./eligible.ts";
import { type ArbiterView, type Flaps, type Placement, placementOf } from "./view.ts";

/**
 * Twice what any fixed set of tickets can ask for, in changes of `spec.nodeID`: the proofs allow four, and one repair of
 * a failed volume takes four.
 */
export const MOST_MOVES = 10;
/** A volume that did not move for so long starts afresh. Longer than any backoff, or a backoff would end the count. */
export const CALM_MS = 600_000;
const FIRST_BACKOFF_MS = 10_000;
const MAX_BACKOFF_MS = 300_000;

/**
 * Counts the changes of the wanted node that come one after the other while the tickets and the health of their nodes
 * stay the same, and makes every attach wait, twice as long each time, once there were too many. A detach never waits.
 * The count is kept in the attachment's status, so a restart does not forget it; a count that cannot be true (from
 * the future, or negative) counts for nothing. Pure.
 */
export function flapsOf(
  view: ArbiterView,
  live: readonly AttachmentTicket[],
  wished: Placement | undefined,
): Flaps {
  const known = plausible(view.attachment.status?.moves, view.now);
  const basis = lazy(() => basisOf(view, live));
  const recent = known !== undefined && Date.parse(known.movedAt) > view.now.getTime() - CALM_MS;
  const before = recent && known.basis === basis() ? known : undefined;
  const backoffUntil = before === undefined ? undefined : backoffOf(before, view, wished);
  const next = backoffUntil === undefined ? (wished ?? placementOf(view.volume)) : placementOf(view.volume);
  if (next.nodeID === (known?.nodeID ?? "")) return flapsFrom(known, before, backoffUntil);
  const count = (before?.count ?? 0) + 1;
  const moves = { nodeID: next.nodeID, count, basis: basis(), movedAt: view.now.toISOString() };
  return flapsFrom(moves, moves, backoffUntil);
}

/** The results of tickets that would have got the volume now. */
export function backoffResults(
  view: ArbiterView,
  candidates: readonly AttachmentTicket[],
  { backoffUntil, message }: Flaps,
): Record<string, TicketResult> {
  if (backoffUntil === undefined) return {};
  const able = candidates.filter((ticket) => ineligible(view, ticket) === undefined);
  const why = `${message}; this one at ${backoffUntil.toISOString()}`;
  return Object.fromEntries(
    able.map(({ id }) => [id, { satisfied: false, reason: "Flapping" as const, message: why }]),
  );
}

function flapsFrom(
  moves: VolumeMoves | undefined,
  counted: VolumeMoves | undefined,
  backoffUntil: Date | undefined,
): Flaps {
  const remembered = defined({ moves });
  if (counted === undefined || counted.count < MOST_MOVES) {
    return { ...remembered, flapping: false, message: "the volume moves only as its tickets ask" };
  }
  const message = `the volume was moved ${counted.count} times while its tickets and nodes stayed the same, the last time at ${counted.movedAt}; every attach waits until it has been calm for ${CALM_MS / 60_000} minutes`;
  const calmAt = new Date(Date.parse(counted.movedAt) + CALM_MS);
  const backoff = defined({ backoffUntil });
  return { ...remembered, flapping: true, message, ...backoff, recheckAt: backoffUntil ?? calmAt };
}

function backoffOf(before: VolumeMoves, view: ArbiterView, wished: Placement | undefined): Date | undefined {
  const attaches = placementOf(view.volume).nodeID === "" && (wished?.nodeID ?? "") !== "";
  // The record is written before the move: this one was counted, and had its backoff.
  const underWay = before.nodeID === wished?.nodeID;
  if (!attaches || underWay || before.count < MOST_MOVES) return undefined;
  const doublings = Math.min(10, Math.floor((before.count - MOST_MOVES) / 2));
  const backoff = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** doublings);
  const until = Date.parse(before.movedAt) + backoff;
  return until > view.now.getTime() ? new Date(until) : undefined;
}

function plausible(moves: VolumeMoves | undefined, now: Date): VolumeMoves | undefined {
  if (moves === undefined || !(Date.parse(moves.movedAt) <= now.getTime())) return undefined;
  return Number.isSafeInteger(moves.count) && moves.count > 0 ? moves : undefined;
}

/**
 * Everything that is a good reason to move: who wants the volume, how, and which of the nodes they name are well. A
 * repair's ticket comes and goes with every fault, so it would hide just the volume that fails again and again.
 */
function basisOf({ nodes, volume }: ArbiterView, live: readonly AttachmentTicket[]): string {
  const tickets = live.filter(({ type }) => type !== "salvage-controller");
  const wants = tickets.map((t) => [t.id, t.type, t.nodeID, t.generation, t.parameters?.["disableFrontend"]]);
  const named = [...new Set(tickets.map(({ nodeID }) => nodeID))].sort();
  const well = named.filter((name) => nodes.get(name)?.status?.state === "Ready");
  const text = JSON.stringify([wants, well, volume.spec.acceptDataLoss, volume.spec.restoreFrom]);
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

function lazy(make: () => string): () => string {
  let made: string | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
