import { source, stepFailpoints } from "@mooring/store";
import type { Volume, VolumeRestore } from "../../../api/volume.ts";
import type { ServicesContext } from "../context.ts";
import { runTicketService } from "../tickets/run-ticket-service.ts";
import { TICKET_STEPS, type TicketStep } from "../tickets/steps.ts";
import { refuseRestore } from "./apply.ts";
import { decide, type RestorePlan } from "./decide.ts";
import { readRestore } from "./read.ts";

const failpoints = stepFailpoints<TicketStep | Refuse>("engine/services/restore", {
  ...TICKET_STEPS,
  refuse: true,
});

type PlanOf = RestorePlan & { volume: Volume };
interface Refuse {
  do: "refuse";
  restore: VolumeRestore;
}

/** Asks with tickets for volumes that go back to one of their snapshots; the node's agent puts the bytes in place. */
export function runRestores(context: ServicesContext): Promise<void> {
  const { volumes, snapshots } = context.informers;
  return runTicketService<PlanOf, Refuse>(context, {
    name: "restore",
    failpoints,
    sources: [source(volumes, ({ metadata }) => [metadata.name])],
    watched: [snapshots],
    async plan(name, { store }) {
      const view = await readRestore(context, store, name);
      return view && { ...decide(view), volume: view.volume };
    },
    ownStep: ({ refuse: restore }) => (restore === undefined ? undefined : { do: "refuse", restore }),
    applyOwn: ({ restore }, { volume }) => refuseRestore(context, volume, restore),
  });
}
