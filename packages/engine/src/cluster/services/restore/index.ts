import { failpoint, getIfAny, source } from "@mooring/store";
import { Snapshots } from "../../../api/snapshot.ts";
import { type Volume, type VolumeRestore, Volumes } from "../../../api/volume.ts";
import type { ServicesContext } from "../context.ts";
import { runVolumeService } from "../tickets/volume-controller.ts";
import { decide, type RestorePlan } from "./decide.ts";

const gaps = {
  taken: failpoint("engine/services/restore/ticket-taken"),
  released: failpoint("engine/services/restore/ticket-released"),
};
const refused = failpoint("engine/services/restore/refused");

/** Holds volumes that go back to one of their snapshots; the node's agent puts the bytes in place. */
export function runRestores(context: ServicesContext): Promise<void> {
  const { snapshots } = context.informers;
  const sources = [source(snapshots, ({ spec }) => [spec.volume])];
  return runVolumeService(context, { name: "restore", gaps, plan, sources });
}

async function plan(context: ServicesContext, volume: Volume): Promise<RestorePlan> {
  const name = volume.spec.restoreFrom?.snapshot;
  const snapshot =
    name === undefined ? undefined : await getIfAny(context.store, Snapshots, { name }, context.signal);
  const decision = decide({ volume, snapshot, now: context.now() });
  if (decision.refuse !== undefined) await refuse(context, volume, decision.refuse);
  return decision;
}

async function refuse(
  { store, events, signal }: ServicesContext,
  volume: Volume,
  restore: VolumeRestore,
): Promise<void> {
  const status = { ...(volume.status ?? { state: "detached" as const }), restore };
  await store.updateStatus(Volumes, { ...volume, status }, { signal });
  refused();
  events.event(volume, "Warning", "RestoreRefused", restore.message ?? "");
}
