import type { AttachmentTicket, AttachmentTicketStatus } from "../api/attachment.ts";
import { decide } from "../cluster/arbiter/decide.ts";
import { ineligible } from "../cluster/arbiter/eligible.ts";
import { rivalOf } from "../cluster/arbiter/migration/contested.ts";
import { claimants } from "../cluster/arbiter/pick.ts";
import { nextStatus } from "../cluster/arbiter/statuses.ts";
import type { ArbiterView, Decision } from "../cluster/arbiter/view.ts";
import { ruleOf, yieldsToWorkload } from "../tickets/attacher-types.ts";
import { keptOpenOn } from "../tickets/exposure.ts";
import { parametersFit, wantsDevice } from "../tickets/frontend.ts";
import { ticketsOf } from "../tickets/tickets-of.ts";
import { endMigration } from "./end-migration.ts";
import type { History } from "./history.ts";
import { endJobs } from "./jobs.ts";
import { checkWorld, expired, must } from "./safety.ts";
import { NODES } from "./world.ts";

/** The result of a ticket. */
type ErrorReport = Pick<AttachmentTicketStatus, "satisfied"> & {
  conditions: readonly { reason: string; message: string }[];
};

/** Rounds in which everybody acts once; far more than a detach and an attach need. */
const ROUNDS = 60;
/** Detach from where it was, one attach that a job loses to a workload, its detach, and the last attach. */
const MOST_MOVES = 4;

/** Faults end: silent nodes come back, or are fenced. Then everything must come to rest, and rightly. */
export function settle(history: History, how: "return" | "fence"): void {
  const { world } = history;
  world.log(`--- no more faults: nodes ${how === "return" ? "come back" : "that are silent are fenced"}`);
  for (const nodeID of NODES) calm(history, nodeID, how);
  history.arbiter.restart();
  must(comesToRest(history), "L6", "it never comes to rest while users stay");
  checkKeptOpen(history);
  history.endUsers();
  const before = world.moves;
  must(comesToRest(history), "L6", "it never comes to rest");
  must(world.moves - before <= MOST_MOVES, "L6", `it moved ${world.moves - before} times`);
  checkRest(history);
  endMigration(history, () =>
    must(comesToRest(history), "L7", "it never comes to rest when a migration ends"),
  );
  checkRest(history);
  endJobs(history, () => must(comesToRest(history), "L3", "it never comes to rest when jobs end"));
  checkRest(history);
}

function checkKeptOpen({ world }: History): void {
  const node = keptOpenOn(world.volume);
  if (node === undefined) return;
  const seen = world.view(world.agents());
  const candidates = claimants(seen, world.tickets);
  const back = candidates
    .filter((t) => t.nodeID === node && ruleOf(t.type).workload && wantsDevice(t))
    .find((t) => ineligible(seen, t) === undefined && rivalOf(seen, t, candidates) === undefined);
  must(back === undefined, "L1", `ticket "${back?.id}" waits for those who use the device on its own node`);
}

function calm(history: History, nodeID: (typeof NODES)[number], how: "return" | "fence"): void {
  const node = history.world.node(nodeID);
  const silent = node.stopped || node.partitioned;
  if (how === "return" || !silent) {
    history.return(nodeID);
    return;
  }
  node.believed = node.believed === "Fenced" ? "Fenced" : "Suspect";
  history.happen({ name: "fence", who: NODES.indexOf(nodeID) });
}

/** Everybody acts in turn, faults apart, until nothing is left to do; false: there always is. */
export function comesToRest(history: History): boolean {
  const { world, arbiter } = history;
  for (let round = 0; round < ROUNDS; round += 1) {
    const versions = [world.volumeVersion, world.attachmentVersion].join();
    arbiter.sync();
    let acted = false;
    while (arbiter.step()) checkWorld(world);
    for (const [who, nodeID] of NODES.entries()) {
      history.happen({ name: "clean-up", who });
      acted = history.agentStep(nodeID) || acted;
      checkWorld(world);
    }
    history.repair();
    world.kubernetes?.attach(world);
    checkWorld(world);
    const still = !acted && versions === [world.volumeVersion, world.attachmentVersion].join();
    if (still && !skipBackoff(history)) return true;
  }
  return false;
}

/** A volume that was moved too often has to wait: the clock goes on to the end of its backoff. True when there was one. */
function skipBackoff({ world }: History): boolean {
  const { backoffUntil } = decide(world.view(world.agents())).flaps;
  if (backoffUntil === undefined) return false;
  world.now = backoffUntil.getTime();
  world.log(`the backoff of a volume that was moved too often ends at ${backoffUntil.toISOString()}`);
  return true;
}

function checkRest({ world }: History): void {
  const { volume, attachment, tickets, open } = world;
  const seen = world.view(world.agents());
  must(volume.status.robustness !== "faulted", "L5", "it stays faulted");
  const stale = tickets.find((t) => world.ownersGone.has(t.id) || expired(t, world.date));
  must(stale === undefined, "S23", `ticket "${stale?.id}" outlived its owner or its time`);
  const csi = new Set(tickets.filter((t) => t.type === "csi-attacher").map((t) => t.nodeID));
  const lost = seen.claims?.find((c) => c.attached && !c.deleting && !csi.has(c.nodeID));
  must(lost === undefined, "S10", `node "${lost?.nodeID}" uses the volume and has no ticket`);
  checkCalm(seen, attachment.status?.attachmentTicketStatuses ?? {}, open);
  // Where every node is lost, no node is left to clear away after the last migration's target.
  const ready = NODES.some((name) => world.node(name).believed === "Ready");
  must(!ready || unpublished(world.unpublishing.length, open), "S21", "an unpublish call never ended");
  checkResults(seen);
}

/** No actor has anything left to do, and every node that matters is either ready or known to be lost. */
export function checkCalm(
  seen: ArbiterView,
  statuses: Readonly<Record<string, ErrorReport>>,
  open: readonly string[],
): void {
  const { volume, attachment } = seen;
  const tickets = ticketsOf(attachment);
  const candidates = claimants(seen, tickets);
  const { nodeID = "", disableFrontend = false } = volume.spec;
  if (tickets.length === 0) {
    const { state, currentNodeID = "" } = volume.status ?? {};
    const free = nodeID === "" && currentNodeID === "" && state === "detached" && open.length === 0;
    must(free, "L4", `without tickets it is ${state}, wanted on "${nodeID}", open on "${open.join()}"`);
  }
  const able = candidates.filter((t) => ineligible(seen, t) === undefined);
  const satisfied = candidates.filter((t) => statuses[t.id]?.satisfied === true);
  // Two workloads that meet on a detached migratable volume: one of them has to leave.
  const contested = able.some((t) => t.type === "csi-attacher" && rivalOf(seen, t, candidates) !== undefined);
  must(
    able.length === 0 || satisfied.length > 0 || contested,
    "L1",
    `ticket "${able[0]?.id}" could be satisfied, none is`,
  );
  const keepers = candidates.filter((t) => t.nodeID === nodeID && parametersFit(t, disableFrontend));
  const kept = able.find((t) => ruleOf(t.type).workload && !keepers.includes(t));
  const yields = keepers.length > 0 && keepers.every(yieldsToWorkload);
  must(kept === undefined || !yields, "L2", `workload "${kept?.id}" waits for jobs that could give way`);
  checkParameters(candidates, keepers, nodeID, statuses);
}

/** Who is on the right node and wants it otherwise learns by whose ticket it is as it is; the others are content together. */
function checkParameters(
  candidates: readonly AttachmentTicket[],
  keepers: readonly AttachmentTicket[],
  nodeID: string,
  statuses: Readonly<Record<string, ErrorReport>>,
): void {
  const content = keepers.filter(({ id }) => statuses[id]?.satisfied === true);
  const shown = content.find((t) => !parametersFit(t, true));
  const hidden = content.find((t) => !parametersFit(t, false));
  must(
    shown === undefined || hidden === undefined,
    "D4",
    `"${shown?.id}" and "${hidden?.id}" are both satisfied`,
  );
  for (const loser of candidates.filter((t) => t.nodeID === nodeID && !keepers.includes(t))) {
    const result = statuses[loser.id]?.conditions[0];
    const names = keepers.some(({ id }) => result?.message.includes(`"${id}"`) === true);
    const right = result?.reason === "AttachedWithIncompatibleParameters" && names;
    must(right, "D4", `ticket "${loser.id}" has the result ${result?.reason}: ${result?.message}`);
  }
}

function unpublished(waiting: number, open: readonly string[]): boolean {
  return waiting === 0 || open.length > 0;
}

function checkResults(seen: ArbiterView): void {
  const { attachment } = seen;
  const decision = decide(seen);
  must(nextStatus(seen, decision) === undefined, "D2", "a second read writes again");
  const { status: _, ...blank } = attachment;
  const again = decide({ ...seen, attachment: blank });
  must(sameDecision(again, decision), "D3", "the results depend on the old ones");
  const turned = Object.fromEntries(Object.entries(attachment.spec.attachmentTickets ?? {}).reverse());
  const spec = { ...attachment.spec, attachmentTickets: turned };
  const other = decide({ ...seen, attachment: { ...attachment, spec } });
  must(JSON.stringify(other) === JSON.stringify(decision), "D1", "the order of the tickets matters");
}

/** All but the memory of moves, which is a time. */
function sameDecision({ flaps: _, ...one }: Decision, { flaps: __, ...other }: Decision): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
