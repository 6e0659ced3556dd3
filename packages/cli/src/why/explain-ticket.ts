import {
  type AttachmentTicket,
  SHUT_OUT_BY_CLUSTER,
  type TicketReason,
  ticketStatus,
  type VolumeAttachment,
  WAITS,
} from "@mooring/engine";
import { defined } from "@mooring/store";
import { age } from "../output/table.ts";
import { endTicket } from "./end-ticket.ts";
import { type Finding, finding } from "./finding.ts";

/** What an operator can do about a wait that does not end by itself. */
type Next = (ticket: AttachmentTicket, volume: string, result: Result) => string;

interface Result {
  message: string;
  /** The tickets that it blames. */
  named: readonly AttachmentTicket[];
}

const seeNamedTickets: Next = (_, volume, { named }) => {
  const ends = named.map((holder) => `; to end it now: ${endTicket(holder, volume)}`);
  return `see who has it: mooring ticket list ${volume}${ends.join("")}`;
};

/** A file system that cannot grow in use grows between two pods: whoever ends the publication below one that runs breaks it. */
const growWithoutPods: Next = () =>
  "end the pods that use it, and it grows before they start again: kubectl delete pod, or kubectl rollout restart";

const NEXT: Partial<Record<TicketReason, Next>> = {
  BlockedByUninterruptible: seeNamedTickets,
  AttachedWithIncompatibleParameters: (ticket, volume, result) =>
    (waitsForItsPods(ticket, result) ? growWithoutPods : seeNamedTickets)(ticket, volume, result),
  NodeNotFound: (ticket, volume) =>
    `name a node of \`kubectl get nodeagents\`, or end it: ${endTicket(ticket, volume)}`,
  NodeNotReady: ({ nodeID }) => `see the node: kubectl describe nodeagent ${nodeID}`,
  NodeUnreachable: (_, volume) => `attach it where its data are: mooring volume show ${volume}`,
  Flapping: (_, volume) =>
    `find out what moves it: kubectl describe volumeattachments.storage.mooring.dev ${volume}`,
  NodeUnfenced: (_, volume, { message, named: [holder] }) =>
    message.includes(SHUT_OUT_BY_CLUSTER)
      ? `wait: the other nodes of the pool do that by themselves; what hinders them, if anything: kubectl describe volumes.storage.mooring.dev ${volume}`
      : `make sure that the silent node is off, then: kubectl taint node ${holder?.nodeID ?? "NODE"} node.kubernetes.io/out-of-service=nodeshutdown:NoExecute`,
};

/** A growth behind nothing but workloads of Kubernetes. */
function waitsForItsPods({ type }: AttachmentTicket, { named }: Result): boolean {
  const isOfPods = (holder: AttachmentTicket) =>
    holder.type === "csi-attacher" && holder.owner?.kind === "VolumeAttachment";
  return type === "volume-expansion-controller" && named.length > 0 && named.every(isOfPods);
}

/** Who it is for: an operator, or the object that it dies with. */
function forWhom({ owner, parameters }: AttachmentTicket): string {
  if (owner !== undefined) return `for ${owner.kind} ${owner.name}`;
  return `for ${parameters?.lastAttachedBy ?? "an unknown user"}`;
}

/** One ticket: whether it has the volume, since when, and what would end its wait. */
function explainTicket(attachment: VolumeAttachment, ticket: AttachmentTicket, now: Date): Finding {
  const { id, type, nodeID, expiresAt, createdAt } = ticket;
  const until = expiresAt === undefined ? "" : `, until ${expiresAt}`;
  const subject = `ticket ${id} (${type}, node ${nodeID}, ${forWhom(ticket)}${until})`;
  const status = ticketStatus(attachment, id);
  const condition = status?.conditions.find((entry) => entry.type === "Satisfied");
  const since = age(condition?.lastTransitionTime ?? createdAt, now);
  if (status?.satisfied === true) return finding("ok", subject, `satisfied for ${since}`);
  if (condition === undefined) {
    return finding("waiting", subject, `not evaluated yet by the arbiter, asked ${since} ago`);
  }
  const reason = condition.reason as TicketReason;
  const ends = WAITS[reason];
  const { message = "" } = condition;
  const next = NEXT[reason]?.(ticket, attachment.spec.volume, {
    message,
    named: namedIn(message, attachment, id),
  });
  return finding(
    "waiting",
    subject,
    `waits for ${since}: ${condition.reason}: ${condition.message}${ends === undefined ? "" : `; ends when: ${ends}`}`,
    defined({ next }),
  );
}

/** Other tickets that the result names, as it does with all that it waits for. */
function namedIn(message: string, { spec }: VolumeAttachment, own: string): AttachmentTicket[] {
  const others = Object.entries(spec.attachmentTickets ?? {}).filter(([id]) => id !== own);
  return others
    .filter(([id]) => message.includes(`ticket "${id}"`))
    .map(([id, ticket]) => ({ ...ticket, id }));
}

/** All of them: who has the volume first. */
export function explainTickets(attachment: VolumeAttachment, now: Date): Finding[] {
  const tickets = Object.entries(attachment.spec.attachmentTickets ?? {});
  const findings = tickets.map(([id, ticket]) => explainTicket(attachment, { ...ticket, id }, now));
  return findings.sort((a, b) => Number(a.state !== "ok") - Number(b.state !== "ok"));
}
