import { getIfAny, type Reader, source, stepFailpoints } from "@mooring/store";
import { Snapshots } from "../../../api/snapshot.ts";
import { type Volume, type VolumeRestore, Volumes } from "../../../api/volume.ts";
import type { ServicesContext } from "../context.ts";
import { runTicketService } from "../tickets/run-ticket-service.ts";
import { TICKET_STEPS, type TicketStep } from "../tickets/steps.ts";
import { decide, type RestorePlan } from "./decide.ts";

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
    plan: (name, reader) => plan(context, reader, name),
    ownStep: ({ refuse: restore }) => (restore === undefined ? undefined : { do: "refuse", restore }),
    applyOwn: ({ restore }, { volume }) => refuse(context, volume, restore),
  });
}

async function plan(
  { now, signal }: ServicesContext,
  { store }: Reader,
  key: string,
): Promise<PlanOf | undefined> {
  const volume = await getIfAny(store, Volumes, { name: key }, signal);
  if (volume === undefined) return undefined;
  const name = volume.spec.restoreFrom?.snapshot;
  const snapshot = name === undefined ? undefined : await getIfAny(store, Snapshots, { name }, signal);
  return { ...decide({ volume, snapshot, now: now() }), volume };
}

async function refuse(
  { store, events, signal }: ServicesContext,
  volume: Volume,
  restore: VolumeRestore,
): Promise<void> {
  const status = { ...(volume.status ?? { state: "detached" as const }), restore };
  await store.updateStatus(Volumes, { ...volume, status }, { signal });
  events.event(volume, "Warning", "RestoreRefused", restore.message ?? "");
}
