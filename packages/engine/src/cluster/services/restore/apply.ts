import { type Volume, type VolumeRestore, Volumes } from "../../../api/volume.ts";
import type { ServicesContext } from "../context.ts";

/** Records that no attempt of the restore could end well, and reports it. */
export async function refuseRestore(
  { store, events, signal }: ServicesContext,
  volume: Volume,
  restore: VolumeRestore,
): Promise<void> {
  const status = { ...(volume.status ?? { state: "detached" as const }), restore };
  await store.updateStatus(Volumes, { ...volume, status }, { signal });
  events.event(volume, "Warning", "RestoreRefused", restore.message ?? "");
}
