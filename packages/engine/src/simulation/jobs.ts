import { ruleOf } from "../tickets/attacher-types.ts";
import { ticketStatus, withoutTickets } from "../tickets/tickets.ts";
import type { History } from "./history.ts";
import { must } from "./safety.ts";

/**
 * The workloads have left, and every job does its work as soon as it has the volume, or gives up where it can never
 * have it. In the end no ticket has the volume. `rest` lets everybody act until nothing is left to do.
 */
export function endJobs(history: History, rest: () => void): void {
  const { world } = history;
  world.log("--- the workloads leave, and jobs come to their end");
  history.leaveAll();
  drop(history, ({ type }) => ruleOf(type).workload);
  rest();
  for (let left = world.tickets.length; left > 0; left = world.tickets.length) {
    const done = new Set(
      world.tickets
        .filter(({ id }) => ticketStatus(world.attachment, id)?.satisfied === true)
        .map(({ id }) => id),
    );
    const hopeless = world.tickets.filter(({ nodeID }) => !world.reachable(nodeID));
    must(
      done.size > 0 || hopeless.length > 0,
      "L3",
      `no job gets the volume: ${world.tickets.map(({ id }) => id)}`,
    );
    for (const { id } of hopeless) done.add(id);
    drop(history, ({ id }) => done.has(id));
    rest();
    must(world.tickets.length < left, "L3", "a job that is done leaves a ticket");
  }
  const { state, currentNodeID = "" } = world.volume.status;
  must(state === "detached" && currentNodeID === "", "L3", `the last job is done and the volume is ${state}`);
}

function drop({ world }: History, which: Parameters<typeof withoutTickets>[1]): void {
  const { next } = withoutTickets(world.attachment, which);
  if (next !== undefined) world.writeTickets(next);
}
