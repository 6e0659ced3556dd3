import { workloadsOn } from "../cluster/arbiter/migration/decide.ts";
import { yieldsToWorkload } from "../tickets/attacher-types.ts";
import { migrationOf } from "../tickets/migration-phase.ts";
import { ticketStatus, withoutTickets } from "../tickets/tickets.ts";
import type { History } from "./history.ts";
import { must } from "./safety.ts";
import type { World } from "./world.ts";

/**
 * A migration at rest has done all but its last step. When the first workload leaves it is confirmed, when the second
 * one does it is rolled back: the volume is then on one node, for the ticket that is left.
 */
export function endMigration(history: History, rest: () => void): void {
  const { world } = history;
  const { phase, from, to } = migrationOf(world.volume);
  if (phase === "none") return;
  // No node is left that could clear away after a target that is lost, and none that it keeps from anything.
  const ready = [world.volume.spec.nodeID ?? "", to].some(
    (name) => world.nodes.get(name)?.believed === "Ready",
  );
  if (phase === "closing" && !ready) return;
  const [stay, go] = [from, to].map((node) => workloadsOn(node, world.tickets).length > 0);
  // What came in the last moment, wants no device of its own and gives way to no ticket keeps it on the source: it is
  // confirmed after that.
  const busy = world.tickets.some((t) => t.nodeID === from && !yieldsToWorkload(t));
  if (phase === "ready" && go === true && stay === false && busy) return;
  const both = stay === true && go === true;
  must(phase === "ready" && both, "L7", `a migration from "${from}" to "${to}" rests while ${phase}`);
  const inactive = world.node(to).withheld && !world.node(to).open;
  must(inactive && world.node(from).open, "S14", `"${from}" and "${to}" are not active and inactive`);
  const leaves = world.story.length % 2 === 0 ? from : to;
  const stays = leaves === from ? to : from;
  world.log(`--- of the two workloads of the migration the one on "${leaves}" leaves`);
  if (world.kubernetes !== undefined) world.kubernetes.leave(leaves);
  else {
    const { next } = withoutTickets(
      world.attachment,
      (t) => t.type === "csi-attacher" && t.nodeID === leaves,
    );
    if (next !== undefined) world.writeTickets(next);
  }
  rest();
  checkEnd(world, leaves, stays);
}

function checkEnd(world: World, leaves: string, stays: string): void {
  const { nodeID = "" } = world.volume.spec;
  // Something else may keep it where it was: then the migration goes on.
  const kept = world.tickets.some((t) => t.nodeID === leaves);
  const third = world.tickets.some((t) => t.type === "csi-attacher" && ![leaves, stays].includes(t.nodeID));
  if (kept || third || nodeID === "") return;
  const { phase } = migrationOf(world.volume);
  must(nodeID === stays && phase === "none", "L7", `it is on "${nodeID}", ${phase}, and not on "${stays}"`);
  // Of those there it is the one that was promised the device; one that wants none may lose to it (D4).
  const left = workloadsOn(stays, world.tickets)[0];
  const result = left === undefined ? undefined : ticketStatus(world.attachment, left.id);
  must(
    result === undefined || result.satisfied,
    "L7",
    `ticket "${left?.id}" has the result ${result?.conditions[0]?.message}`,
  );
}
