import type { AttachmentTicket } from "../api/attachment.ts";
import { isServed, type Volume } from "../api/volume.ts";
import { ineligible, isFenced } from "../cluster/arbiter/eligible.ts";
import { rivalOf } from "../cluster/arbiter/migration/contested.ts";
import { workloadsOn } from "../cluster/arbiter/migration/decide.ts";
import { claimants } from "../cluster/arbiter/pick.ts";
import type { ArbiterView, Decision } from "../cluster/arbiter/view.ts";
import { placed } from "../cluster/arbiter/writes.ts";
import { ruleOf, yieldsToWorkload } from "../tickets/attacher-types.ts";
import { keptOpenOn, mayBeOpenOn } from "../tickets/exposure.ts";
import { parametersFit, wantsDevice } from "../tickets/frontend.ts";
import { migrationOf } from "../tickets/migration-phase.ts";
import { ticketStatus } from "../tickets/tickets.ts";
import { ticketsOf } from "../tickets/tickets-of.ts";
import type { World } from "./world.ts";

/** A broken property, by its name in `properties.json`. */
class Broken extends Error {
  constructor(property: string, what: string) {
    super(`${property}: ${what}`);
  }
}

/** Throws unless it is true: the property is broken, for the reason given. */
export function must(isTrue: boolean, property: string, what: string): void {
  if (!isTrue) throw new Broken(property, what);
}

/** At the moment of the arbiter's write into the volume's spec. */
export function checkPlacement(before: Volume, after: Volume, seen: ArbiterView): void {
  const from = before.spec.nodeID ?? "";
  const to = after.spec.nodeID ?? "";
  const goal = after.spec.migrationNodeID ?? "";
  if (goal !== (before.spec.migrationNodeID ?? "") && to !== "") {
    checkMigration(before, after, seen);
    return;
  }
  const switched = from === to && to !== "";
  must(switched || (from === "") !== (to === ""), "S3", `the spec went from "${from}" to "${to}"`);
  if (switched) checkSwitch(after, seen);
  else if (to === "") checkDetach(before, from, seen);
  else checkAttach(before, after, seen);
}

/** A migration begins, is confirmed, or is rolled back. */
function checkMigration(before: Volume, after: Volume, seen: ArbiterView): void {
  const { nodeID: from = "", migrationNodeID: target = "" } = before.spec;
  const { nodeID: to = "", migrationNodeID: goal = "" } = after.spec;
  const { state, currentNodeID, currentMigrationNodeID = "" } = before.status ?? {};
  const workloads = (node: string) => workloadsOn(node, ticketsOf(seen.attachment));
  if (goal !== "") {
    const open = state === "attached" && currentNodeID === from && currentMigrationNodeID === "";
    must(from === to && target === "" && open, "S12", `a migration to "${goal}" began while ${state}`);
    must(workloads(from).length > 0 && workloads(goal).length > 0, "S12", "no ticket asked for a migration");
  } else if (from === to) {
    const wanted = workloads(target).filter((t) => !seen.ownersGone.has(t.id) && !expired(t, seen.now));
    const lost = isFenced(seen, target);
    must(wanted.length === 0 || lost, "S13", `it was rolled back from ticket "${wanted[0]?.id}"`);
  } else {
    const ready = to === target && currentMigrationNodeID === target && currentNodeID === from;
    must(ready && workloads(to).length > 0, "S13", `it was confirmed on "${to}", which is not ready`);
    const left = workloads(from).filter((t) => !seen.ownersGone.has(t.id) && !expired(t, seen.now));
    must(left.length === 0, "S13", `it was confirmed while ticket "${left[0]?.id}" has it on "${from}"`);
  }
}

/** The device is shown or hidden in place: no ticket that had the volume may lose it by that. */
function checkSwitch({ spec: { nodeID, disableFrontend = false } }: Volume, seen: ArbiterView): void {
  const candidates = claimants(seen, ticketsOf(seen.attachment)).filter((t) => t.nodeID === nodeID);
  const lost = candidates.find(
    (t) => parametersFit(t, !disableFrontend) && !parametersFit(t, disableFrontend),
  );
  const gained = candidates.some((t) => !parametersFit(t, !disableFrontend));
  must(gained || disableFrontend, "S4", "the device was shown and no ticket asked for it");
  const dying = lost !== undefined && (seen.ownersGone.has(lost.id) || expired(lost, seen.now));
  must(lost === undefined || dying, "S10", `the device was switched under ticket "${lost?.id}"`);
}

function checkAttach(before: Volume, after: Volume, seen: ArbiterView): void {
  const { nodeID: to = "", disableFrontend = false } = after.spec;
  const tickets = ticketsOf(seen.attachment);
  const asked = tickets.filter((t) => t.nodeID === to && parametersFit(t, disableFrontend));
  must(asked.length > 0, "S4", `no ticket asked for node "${to}"`);
  const { state, currentNodeID = "", robustness, ownerID } = before.status ?? {};
  // It has never left: its device is open, and nobody else could have it before those who use it end.
  const stays = keptOpenOn(before) === to && !disableFrontend;
  checkTurn(asked, seen, (t) => !stays || (t.nodeID === to && ruleOf(t.type).workload && wantsDevice(t)));
  const repairing = disableFrontend && asked.some((t) => ruleOf(t.type).repairs === true);
  const whole = robustness !== "faulted" || repairing;
  const free = (stays || (state === "detached" && currentNodeID === "")) && whole;
  must(free, "S5", `it was placed while ${state}`);
  const csi = asked.filter((t) => t.type === "csi-attacher");
  const rival = csi.length === asked.length ? csi.find((t) => rivalOf(seen, t, tickets)) : undefined;
  must(rival === undefined, "S12", `ticket "${rival?.id}" got it while another node's wants it as well`);
  const shared = isServed(before);
  const byServer = asked.some((t) => t.type !== "csi-attacher");
  must(!shared || byServer, "S11", `a workload's ticket placed the shared volume on "${to}"`);
  must(
    ownerID === undefined || ownerID === to,
    "S19",
    `it was placed on "${to}", its data is on "${ownerID}"`,
  );
}

/** No ticket that could have the volume as well (`may`: also where it stays) is of higher priority than all that get it, or as high and older. */
function checkTurn(
  asked: readonly AttachmentTicket[],
  seen: ArbiterView,
  may: (ticket: AttachmentTicket) => boolean,
): void {
  const live = ticketsOf(seen.attachment).filter((t) => !seen.ownersGone.has(t.id) && !expired(t, seen.now));
  const able = claimants(seen, live).filter((t) => ineligible(seen, t) === undefined && may(t));
  const rank = (t: AttachmentTicket) => [-ruleOf(t.type).priority, Date.parse(t.createdAt ?? "")] as const;
  const before = (a: AttachmentTicket, b: AttachmentTicket) =>
    rank(a)[0] < rank(b)[0] || (rank(a)[0] === rank(b)[0] && rank(a)[1] < rank(b)[1]);
  const winners = new Set(asked.map(({ id }) => id));
  const served = able.filter(({ id }) => winners.has(id));
  const passed = able.find((t) => !winners.has(t.id) && served.every((winner) => before(t, winner)));
  must(
    passed === undefined,
    "L8",
    `ticket "${passed?.id}" is older, or of higher priority, and was passed over`,
  );
}

function checkDetach(before: Volume, from: string, seen: ArbiterView): void {
  const { disableFrontend = false } = before.spec;
  const keeps = (t: AttachmentTicket) => t.nodeID === from && parametersFit(t, disableFrontend);
  const live = ticketsOf(seen.attachment).filter((t) => !seen.ownersGone.has(t.id) && !expired(t, seen.now));
  const firm = claimants(seen, live).filter((t) => keeps(t) && !yieldsToWorkload(t));
  const silent = seen.nodes.get(from)?.status?.state !== "Ready" && before.status?.state === "detached";
  const allowed = before.status?.robustness === "faulted" || isFenced(seen, from) || silent;
  must(allowed || firm.length === 0, "S10", `it was taken from ticket "${firm[0]?.id}" (${firm[0]?.type})`);
  if (!allowed) checkClaims(before, from, seen);
  if (!allowed) checkServed(before, from, seen, live);
  if (!allowed) checkPromise(before, live, seen);
  const workload = live.some((t) => ruleOf(t.type).workload && !keeps(t));
  must(
    allowed || workload || !claimants(seen, live).some(keeps),
    "S10",
    "it was taken from a job and no ticket needs it",
  );
}

/** A target that is ready gets the volume when nothing keeps it on the source any more: it has been promised. */
function checkPromise(before: Volume, live: readonly AttachmentTicket[], seen: ArbiterView): void {
  const { phase, from, to } = migrationOf(before);
  const kept = live.some((t) => t.nodeID === from && !yieldsToWorkload(t));
  if (phase !== "ready" || kept) return;
  const promised = workloadsOn(to, live).find((t) => ineligible(seen, t) === undefined);
  must(promised === undefined, "S13", `it was detached instead of moved for ticket "${promised?.id}"`);
}

/** Even when a ticket is torn out: as long as Kubernetes records that the device is there, it stays. */
function checkClaims({ spec }: Volume, from: string, seen: ArbiterView): void {
  // The node of a claim is not the one that serves it.
  if (isServed({ spec }) || spec.disableFrontend === true) return;
  const claim = seen.claims?.find(
    ({ nodeID, attached, deleting }) => nodeID === from && attached && !deleting,
  );
  must(claim === undefined, "S10", `it was taken from node "${from}", where Kubernetes has it attached`);
}

/** And as long as any node uses what this one serves, also when no ticket but the users' own is left. */
function checkServed(before: Volume, from: string, seen: ArbiterView, live: AttachmentTicket[]): void {
  if (!isServed(before) || seen.share?.spec.nodeID !== from) return;
  const users = live.filter((t) => t.type === "csi-attacher").map((t) => t.nodeID);
  const claimed = (seen.claims ?? []).filter(({ attached, deleting }) => attached && !deleting);
  const [user] = [...users, ...claimed.map(({ nodeID }) => nodeID)];
  const moves = live.some((t) => t.type === "share-manager-controller");
  must(user === undefined || moves, "S10", `it was taken from "${from}", which serves it to "${user}"`);
}

/** True when the ticket's time is over. */
export function expired(ticket: AttachmentTicket, now: Date): boolean {
  return ticket.expiresAt !== undefined && Date.parse(ticket.expiresAt) <= now.getTime();
}

function checkWriters({ open }: Pick<World, "open">): void {
  must(open.length <= 1, "S1", `nodes ${open.join(" and ")} can both write`);
}

/** One small state: what the machines have, and the results that the arbiter records before it does anything else. */
export function checkState(
  world: Pick<World, "open">,
  seen: ArbiterView,
  { results, placement }: Pick<Decision, "results" | "placement">,
): void {
  checkWriters(world);
  const { volume } = seen;
  for (const node of world.open) {
    // An unpublish returns by this.
    must(mayBeOpenOn(volume, node), "S21", `unpublish returns while node "${node}" has the device`);
  }
  const next = placement === undefined ? volume : placed(volume, placement);
  const content = ticketsOf(seen.attachment).filter(({ id }) => results[id]?.satisfied === true);
  for (const ticket of content) {
    // The result is recorded before the volume is placed, and stays until another is recorded.
    for (const at of [volume, next]) checkSatisfied(ticket, at);
    const here = world.open.includes(ticket.nodeID);
    must(here, "S6", `ticket "${ticket.id}" is satisfied and node "${ticket.nodeID}" has no device`);
  }
  const shown = content.find((t) => !parametersFit(t, true));
  const hidden = content.find((t) => !parametersFit(t, false));
  must(!(shown && hidden), "D4", `"${shown?.id}" and "${hidden?.id}" are both satisfied`);
}

/** Between any two steps, on what the machines really have. */
export function checkWorld(world: World): void {
  checkWriters(world);
  const { migrationNodeID = "" } = world.volume.spec;
  const opened = migrationNodeID !== "" && world.node(migrationNodeID).open;
  must(
    !opened || world.lease.holder === migrationNodeID,
    "S14",
    `node "${migrationNodeID}" writes too early`,
  );
  checkTickets(world);
  checkEnded(world);
  world.unpublishing = world.unpublishing.filter(({ nodeID }) => {
    if (world.tickets.some((ticket) => ticket.nodeID === nodeID)) return false;
    // Its users may only end after this call: the arbiter waits for them, see S1.
    if (keptOpenOn(world.volume) === nodeID) return false;
    if (mayBeOpenOn(world.volume, nodeID)) return true;
    must(!world.node(nodeID).open, "S21", `unpublish returned while node "${nodeID}" has the device`);
    return false;
  });
}

function checkTickets(world: World): void {
  const { attachment, volume } = world;
  for (const ticket of ticketsOf(attachment)) {
    checkNumber(world, ticket);
    if (ticketStatus(attachment, ticket.id)?.satisfied === true) checkSatisfied(ticket, volume);
  }
}

/** A ticket whose result is satisfied. */
function checkSatisfied({ id, ...ticket }: AttachmentTicket, volume: Volume): void {
  const { nodeID = "", migrationNodeID = "", disableFrontend = false } = volume.spec;
  if (isServed(volume) && ticket.type === "csi-attacher") {
    must(nodeID !== "", "S6", `ticket "${id}" is satisfied while the share's volume leaves`);
    return;
  }
  const there = nodeID === ticket.nodeID || migrationNodeID === ticket.nodeID;
  const here = there && parametersFit({ id, ...ticket }, disableFrontend);
  must(here, "S6", `ticket "${id}" is satisfied for "${ticket.nodeID}", the volume is to be on "${nodeID}"`);
}

/**
 * A number stands for one request, whatever an operator writes between two reads of the arbiter. One that no ticket has
 * evaluated can be lowered by hand: no result of an earlier request bears it.
 */
function checkNumber(world: World, ticket: AttachmentTicket): void {
  const { attachment, generations, handWritten, evaluated, ended } = world;
  const { id, generation = 0 } = ticket;
  const evaluatedNow = ticketStatus(attachment, id) !== undefined;
  if (handWritten.has(id) && !evaluatedNow) return;
  const last = evaluated.get(id);
  const highest = handWritten.has(id) ? (last?.generation ?? 0) : (generations.get(id) ?? 0);
  must(generation >= highest, "S8", `ticket "${id}" went from number ${highest} to ${generation}`);
  generations.set(id, generation);
  if (!evaluatedNow) return;
  handWritten.delete(id);
  must(
    generation > (ended.get(id) ?? 0),
    "S7",
    `ticket "${id}" came back and is evaluated as ${generation} again`,
  );
  const asked = JSON.stringify([ticket.nodeID, ticket.parameters ?? {}]);
  const same = last?.generation !== generation || last.asked === asked;
  must(same, "S7", `number ${generation} of ticket "${id}" stood for ${last?.asked}, now for ${asked}`);
  evaluated.set(id, { generation, asked });
}

/** Ids that neither have a ticket nor a result: a ticket that comes under one of them again needs a number of its own. */
function checkEnded({ attachment, evaluated, ended }: World): void {
  for (const [id, { generation }] of evaluated) {
    const present =
      attachment.spec.attachmentTickets?.[id] ?? attachment.status?.attachmentTicketStatuses?.[id];
    if (present === undefined) ended.set(id, generation);
  }
}

/** When a node's agent, or the fence, records what became of the device. */
export function checkRecord(world: Pick<World, "open">, nodeID: string, state: string): void {
  const open = world.open.includes(nodeID);
  if (state === "attached") must(open, "S2", `"attached" was recorded of node "${nodeID}" without a device`);
  if (state === "detached")
    must(!open, "S2", `"detached" was recorded of node "${nodeID}" with its device open`);
}
