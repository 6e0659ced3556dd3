import type { AttachmentTicket } from "../../../api/attachment.ts";
import { yieldsToWorkload } from "../../../tickets/attacher-types.ts";
import { wantsDevice } from "../../../tickets/frontend.ts";
import { isMigratable, migrationOf } from "../../../tickets/migration-phase.ts";
import { ineligible, isFaulted, isFenced } from "../eligible.ts";
import { foremost } from "../pick.ts";
import { type ArbiterView, type Placement, placementOf } from "../view.ts";

type Tickets = readonly AttachmentTicket[];

/**
 * Step 3: the volume belongs on the target from now on, because the source's workload has gone. Undefined: not now.
 * The one way in which `spec.nodeID` goes from a node to another.
 */
export function confirmed(view: ArbiterView, tickets: Tickets): Placement | undefined {
  const { nodeID, migrationNodeID = "" } = placementOf(view.volume);
  const { state, currentNodeID } = view.volume.status ?? {};
  const settled = state === "attached" && currentNodeID === nodeID && !isFaulted(view);
  if (migrationOf(view.volume).phase !== "ready" || !settled) return undefined;
  const target = workloadsOn(migrationNodeID, tickets)[0];
  if (target === undefined || ineligible(view, target) !== undefined) return undefined;
  if (!tickets.filter((ticket) => ticket.nodeID === nodeID).every(yieldsToWorkload)) return undefined;
  const lastAttachedBy = target.parameters?.lastAttachedBy ?? "";
  return { nodeID: migrationNodeID, disableFrontend: false, lastAttachedBy };
}

/** The beginning of a migration, or its end without a move; undefined: it stays as it is. */
export function nextTarget(view: ArbiterView, tickets: Tickets): Placement | undefined {
  const { migrationNodeID = "", ...present } = placementOf(view.volume);
  if (migrationNodeID !== "") {
    const asked = workloadsOn(migrationNodeID, tickets).length > 0;
    return asked && !isFenced(view, migrationNodeID) ? undefined : present;
  }
  if (hindrance(view, tickets) !== undefined) return undefined;
  const target = foremost(view, workloadsBeside(present.nodeID, tickets));
  return target === undefined ? undefined : { ...present, migrationNodeID: target.nodeID };
}

/** Why the volume cannot begin to migrate now, for messages; undefined when it can. */
export function hindrance(view: ArbiterView, tickets: Tickets): string | undefined {
  const { nodeID, disableFrontend } = placementOf(view.volume);
  const { state, currentNodeID, frontendDisabled = false } = view.volume.status ?? {};
  if (!isMigratable(view.volume)) return "the volume is not migratable";
  const { phase, to } = migrationOf(view.volume);
  if (phase === "closing") return `node "${to}" has not closed its device yet`;
  if (phase !== "none") return `the volume is migrating to node "${to}" already`;
  const open = state === "attached" && currentNodeID === nodeID;
  if (isFaulted(view) || !open) return `the volume is not attached to node "${nodeID}" yet`;
  const busy = tickets.find((t) => t.nodeID === nodeID && t.type !== "csi-attacher" && !yieldsToWorkload(t));
  if (busy !== undefined) return `ticket "${busy.id}" (${busy.type}) keeps it on node "${nodeID}"`;
  if (disableFrontend || frontendDisabled) return "workloads cannot reach the volume at present";
  if (workloadsOn(nodeID, tickets).length === 0) return `no workload has it on node "${nodeID}"`;
  return undefined;
}

/** The tickets of workloads on this node. */
export function workloadsOn(nodeID: string, tickets: Tickets): AttachmentTicket[] {
  return tickets.filter((t) => t.type === "csi-attacher" && t.nodeID === nodeID && wantsDevice(t));
}

function workloadsBeside(nodeID: string, tickets: Tickets): AttachmentTicket[] {
  return tickets.filter((t) => t.type === "csi-attacher" && t.nodeID !== nodeID && wantsDevice(t));
}
