import { keyOf, stepFailpoints, type VolumeSnapshot } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { sidecarController } from "../common/controller.ts";
import { ObjectBackoff } from "../common/object-backoff.ts";
import { SnapshotOperations } from "../common/snapshot-metrics.ts";
import { source } from "../common/source.ts";
import { applySnapshot } from "./apply.ts";
import { decideSnapshot, type SnapshotStep, type SnapshotView } from "./decide.ts";
import { readSnapshot, snapshotRequestKey } from "./read.ts";

const failpoints = stepFailpoints<SnapshotStep>("sidecars/snapshot", {
  "set-class": true,
  "add-finalizer": true,
  "add-finalizer-to-claim": true,
  "create-content": true,
  "bind-content": true,
  "write-status": true,
  report: true,
  "mark-being-deleted": true,
  "delete-content": true,
  release: true,
});

/** Binds VolumeSnapshots of the driver to contents, and undoes that. */
export async function runSnapshot(context: SidecarContext, signal: AbortSignal): Promise<void> {
  const { cluster } = context;
  const operations = new SnapshotOperations<VolumeSnapshot>("Snapshot", context.driver.info.name);
  const backoff = new ObjectBackoff(context, cluster.snapshots, (uid) => operations.forget(uid));
  const controller = sidecarController(context, {
    name: "snapshot",
    failpoints,
    sources: [source(cluster.snapshots, (snapshot) => [keyOf(snapshot)])],
    watched: [
      ...[cluster.contents, cluster.snapshotClasses, cluster.claims, cluster.volumes],
      ...(context.distributedSnapshots ? [cluster.nodes, cluster.csiNodes] : []),
    ],
    read: async (key, from, fresh) => {
      const view = await readSnapshot(key, from, fresh);
      return { ...view, backoffMs: backoff.remaining(view.snapshot, () => snapshotRequestKey(view)) };
    },
    isGone: ({ snapshot }: SnapshotView) => snapshot === undefined,
    decide: decideSnapshot,
    apply: async (step: SnapshotStep, view, key) => {
      if (view.snapshot === undefined) return;
      backoff.note(key, view.snapshot);
      operations.step(view.snapshot, { waits: step.do === "report" });
      await applySnapshot(context, backoff, step, view);
      if (step.do === "write-status") operations.reached(view.snapshot, step.events);
      if (step.do === "release") operations.released(view.snapshot);
    },
    ended: (key) => backoff.ended(key),
  });
  await controller.run(signal);
}
