import { failpoint, getIfAny, source } from "@mooring/store";
import { type Volume, Volumes } from "../../../api/volume.ts";
import type { ServicesContext } from "../context.ts";
import type { TicketPlan } from "../tickets/plan.ts";
import { runVolumeService } from "../tickets/volume-controller.ts";
import { decide } from "./decide.ts";

const gaps = {
  taken: failpoint("engine/services/clone/ticket-taken"),
  released: failpoint("engine/services/clone/ticket-released"),
};

/** Holds the two volumes of every copy that is being made; the node's agent copies. */
export function runClones(context: ServicesContext): Promise<void> {
  const { volumes, attachments } = context.informers;
  const copiesOf = (name: string): string[] =>
    volumes
      .byIndex("source", name)
      .filter(({ status }) => status?.size === undefined)
      .map(({ metadata }) => metadata.name);
  const sources = [
    source(volumes, ({ metadata }) => copiesOf(metadata.name)),
    source(attachments, ({ metadata }) => copiesOf(metadata.name)),
  ];
  return runVolumeService(context, { name: "clone", gaps, plan, sources });
}

async function plan({ store, signal }: ServicesContext, target: Volume): Promise<TicketPlan> {
  const { source: from } = target.spec;
  if (from?.kind !== "Volume") return { holds: [] };
  const origin = await getIfAny(store, Volumes, { name: from.name }, signal);
  return decide({ target, source: origin });
}
