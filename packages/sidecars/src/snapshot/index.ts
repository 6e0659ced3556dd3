import { keyOf } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { sidecarController } from "../common/controller.ts";
import { ObjectPauses } from "../common/object-pauses.ts";
import { source } from "../common/source.ts";
import { applySnapshot } from "./apply.ts";
import { runClaimProtection } from "./claim-protection.ts";
import { decideSnapshot, type SnapshotStep, type SnapshotView } from "./decide.ts";
import { readSnapshot, snapshotRequestKey } from "./read.ts";

/** Binds VolumeSnapshots of the driver to contents, and undoes that. */
export async function runSnapshot(context: SidecarContext, signal: AbortSignal): Promise<void> {
  const { cluster } = context;
  const pauses = new ObjectPauses(context, cluster.snapshots);
  const controller = sidecarController(context, {
    name: "snapshot",
    sources: [source(cluster.snapshots, (snapshot) => [keyOf(snapshot)])],
    watched: [cluster.contents, cluster.snapshotClasses, cluster.claims, cluster.volumes],
    read: async (key, from, fresh) => {
      const view = await readSnapshot(key, from, fresh);
      return { ...view, pauseMs: pauses.remaining(view.snapshot, snapshotRequestKey(view)) };
    },
    isGone: ({ snapshot }: SnapshotView) => snapshot === undefined,
    decide: decideSnapshot,
    apply: async (step: SnapshotStep, view, key) => {
      if (view.snapshot === undefined) return;
      pauses.note(key, view.snapshot);
      await applySnapshot(context, pauses, step, view);
    },
    ended: (key) => pauses.ended(key),
  });
  await Promise.all([controller.run(signal), runClaimProtection(context, signal)]);
}
