import type { AttachmentTicket } from "../../../api/attachment.ts";
import { wantsDevice } from "../../../tickets/frontend.ts";
import { describeMigration, isMigratable } from "../../../tickets/migration-phase.ts";
import type { TicketResult } from "../../../tickets/result.ts";
import { ineligible, isFaulted, isFenced } from "../eligible.ts";
import { foremost } from "../pick.ts";
import { type ArbiterView, type Placement, placementOf } from "../view.ts";
import { rivalOf } from "./contested.ts";
import { hindrance } from "./decide.ts";

const waiting = (message: string): TicketResult => ({
  satisfied: false,
  reason: "MigrationWaiting",
  message,
});

/** The result of a workload's ticket of a migratable volume; undefined: that of any other ticket. */
export function evaluateMigration(
  view: ArbiterView,
  ticket: AttachmentTicket,
  candidates: readonly AttachmentTicket[],
  placement: Placement,
): TicketResult | undefined {
  const { volume } = view;
  if (!isMigratable(volume) || ticket.type !== "csi-attacher" || !wantsDevice(ticket)) return undefined;
  if (isFaulted(view)) return undefined;
  if (placement.nodeID === "") return evaluateContested(view, ticket, candidates);
  if (placement.nodeID === ticket.nodeID) return evaluateMoving(view, ticket, placement);
  const refused = ineligible(view, ticket);
  if (refused !== undefined) return refused;
  if (placement.migrationNodeID === ticket.nodeID) return evaluateTarget(view, ticket, placement, candidates);
  return evaluateBeside(view, ticket, candidates, placement);
}

function evaluateContested(
  view: ArbiterView,
  ticket: AttachmentTicket,
  candidates: readonly AttachmentTicket[],
): TicketResult | undefined {
  const { state, currentNodeID = "", currentMigrationNodeID = "" } = view.volume.status ?? {};
  if (state !== "detached" || currentNodeID !== "" || ineligible(view, ticket) !== undefined)
    return undefined;
  if (currentMigrationNodeID !== "") {
    return waiting(`node "${currentMigrationNodeID}" has not closed its device yet`);
  }
  // Something of higher priority goes first.
  if (foremost(view, candidates)?.type !== "csi-attacher") return undefined;
  const rival = rivalOf(view, ticket, candidates);
  if (rival === undefined) return undefined;
  return waiting(
    `the volume was detached while ticket "${rival.id}" wanted it on node "${rival.nodeID}" as well: one of the two has to end`,
  );
}

/** The volume is to be here, and the source has not given it away yet: the device is there, and waits. */
function evaluateMoving(
  view: ArbiterView,
  { nodeID }: AttachmentTicket,
  placement: Placement,
): TicketResult | undefined {
  const { state, currentNodeID = "", currentMigrationNodeID } = view.volume.status ?? {};
  const there = currentMigrationNodeID === nodeID && currentNodeID !== nodeID && state === "attached";
  if (!there || isFenced(view, nodeID)) return undefined;
  return {
    satisfied: true,
    reason: "Migrating",
    message: `${describeStep(view, placement)}; "${currentNodeID}" hands it over`,
  };
}

function evaluateTarget(
  view: ArbiterView,
  { nodeID }: AttachmentTicket,
  placement: Placement,
  candidates: readonly AttachmentTicket[],
): TicketResult {
  const { currentMigrationNodeID = "", error } = view.volume.status ?? {};
  const step = describeStep(view, placement);
  if (currentMigrationNodeID === nodeID && placementOf(view.volume).migrationNodeID === nodeID) {
    const last = candidates.find((t) => t.nodeID === placement.nodeID);
    const ends = last === undefined ? "" : `, until ticket "${last.id}" (${last.type}) ends`;
    return {
      satisfied: true,
      reason: "Migrating",
      message: `${step}; node "${placement.nodeID}" writes${ends}`,
    };
  }
  const why = error === undefined ? "" : `: ${error.code}: ${error.message}`;
  return waiting(`${step}; node "${nodeID}" opens its device${why}`);
}

function evaluateBeside(
  view: ArbiterView,
  ticket: AttachmentTicket,
  candidates: readonly AttachmentTicket[],
  placement: Placement,
): TicketResult | undefined {
  const { migrationNodeID = "" } = placement;
  if (migrationNodeID !== "") {
    return waiting(`the volume is migrating from node "${placement.nodeID}" to node "${migrationNodeID}"`);
  }
  const source = candidates.find((t) => t.type === "csi-attacher" && t.nodeID === placement.nodeID);
  if (source === undefined || view.nodes.get(placement.nodeID)?.status?.state !== "Ready") return undefined;
  return waiting(
    `a migration to node "${ticket.nodeID}" waits: ${hindrance(view, candidates) ?? "it is about to begin"}`,
  );
}

/** The step that the volume is at when the decision is written. */
function describeStep({ volume }: ArbiterView, { nodeID, migrationNodeID = "" }: Placement): string {
  const step = describeMigration({ ...volume, spec: { ...volume.spec, nodeID, migrationNodeID } });
  return `migrating, ${step ?? ""}`;
}
