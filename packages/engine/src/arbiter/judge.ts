import type { AttachmentTicket } from "../api/attachment.ts";
import { yieldsToWorkload } from "./attacher-types.ts";
import { ineligible, isFenced, parametersFit } from "./eligible.ts";
import type { ArbiterView, Placement, Verdict, VerdictReason } from "./view.ts";

const waiting = (reason: VerdictReason, message: string): Verdict => ({ satisfied: false, reason, message });

/**
 * What every ticket is told, given where the volume will be after this decision. `satisfied` needs the placement, the
 * node's own word (`status`) and fitting parameters: in the pass that starts a detach nobody is satisfied any more.
 */
export function judge(
  view: ArbiterView,
  live: readonly AttachmentTicket[],
  holders: readonly AttachmentTicket[],
  placement: Placement,
): Record<string, Verdict> {
  const verdicts: Record<string, Verdict> = {};
  for (const ticket of live) {
    verdicts[ticket.id] = holders.includes(ticket)
      ? judgeHolder(view, ticket, holders, placement)
      : judgeShared(view, holders, placement);
  }
  return verdicts;
}

function judgeShared(view: ArbiterView, holders: readonly AttachmentTicket[], placement: Placement): Verdict {
  const manager = holders.find((ticket) => ticket.type === "share-manager-controller");
  const held = manager === undefined ? undefined : judgeHolder(view, manager, holders, placement);
  return held?.satisfied === true
    ? { satisfied: true, reason: "Attached", message: `the volume is shared from node "${manager?.nodeID}"` }
    : waiting("ShareNotReady", held?.message ?? "the volume's share is not running yet");
}

function judgeHolder(
  view: ArbiterView,
  ticket: AttachmentTicket,
  holders: readonly AttachmentTicket[],
  placement: Placement,
): Verdict {
  if (placement.nodeID === ticket.nodeID) return judgeHere(view, ticket, holders, placement);
  const refused = ineligible(view, ticket);
  if (refused !== undefined) return refused;
  if (placement.nodeID === "") return judgeDetached(view, ticket);
  return judgeElsewhere(view, holders, placement);
}

function judgeHere(
  view: ArbiterView,
  ticket: AttachmentTicket,
  holders: readonly AttachmentTicket[],
  placement: Placement,
): Verdict {
  if (!parametersFit(ticket, placement.disableFrontend)) {
    const other = holders.find(
      (t) => t.nodeID === placement.nodeID && parametersFit(t, placement.disableFrontend),
    );
    const mode = placement.disableFrontend ? "without its device" : "with its device";
    return waiting(
      "AttachedWithIncompatibleParameters",
      `the volume is attached ${mode}${other === undefined ? "" : ` by ticket "${other.id}"`}`,
    );
  }
  const status = view.volume.status;
  const frontendFits = parametersFit(ticket, status?.frontendDisabled ?? placement.disableFrontend);
  if (status?.state === "attached" && status.currentNodeID === placement.nodeID && frontendFits) {
    return { satisfied: true, reason: "Attached", message: `attached to node "${placement.nodeID}"` };
  }
  const error = status?.error === undefined ? "" : `: ${status.error.code}: ${status.error.message}`;
  return waiting(
    "Attaching",
    `node "${placement.nodeID}" is opening the volume (${status?.state ?? "new"})${error}`,
  );
}

/** Nothing holds the volume, or it was taken away a moment ago. */
function judgeDetached(view: ArbiterView, ticket: AttachmentTicket): Verdict {
  const { state = "creating", currentNodeID = "", error } = view.volume.status ?? {};
  if (state === "creating") {
    return waiting("VolumeNotReady", error?.message ?? "the volume is still being created");
  }
  if (currentNodeID === ticket.nodeID) {
    return waiting("Detaching", `the volume is being detached from this node first`);
  }
  if (currentNodeID !== "") {
    return waiting("WaitingDetach", `the volume is being detached from node "${currentNodeID}"`);
  }
  if (state !== "detached") return waiting("WaitingDetach", `the volume is ${state}`);
  return waiting("WaitingTurn", "another ticket was picked first");
}

function judgeElsewhere(
  view: ArbiterView,
  holders: readonly AttachmentTicket[],
  placement: Placement,
): Verdict {
  const current = holders.filter(
    (t) => t.nodeID === placement.nodeID && parametersFit(t, placement.disableFrontend),
  );
  const blocking = current.find((ticket) => !yieldsToWorkload(ticket)) ?? current[0];
  const by = blocking === undefined ? "" : ` by ticket "${blocking.id}" (${blocking.type})`;
  const state = view.nodes.get(placement.nodeID)?.status?.state;
  if (state !== "Ready" && !isFenced(view, placement.nodeID)) {
    return waiting(
      "NodeUnfenced",
      `the volume is held${by} on node "${placement.nodeID}", which is ${state ?? "unknown"}: fence the node to move it`,
    );
  }
  const reason =
    blocking !== undefined && yieldsToWorkload(blocking) ? "WaitingTurn" : "BlockedByUninterruptible";
  return waiting(reason, `the volume is held on node "${placement.nodeID}"${by}`);
}
