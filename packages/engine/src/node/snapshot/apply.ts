import { type Outcome, removeFinalizer } from "@mooring/store";
import { ENGINE_FINALIZER } from "../../api/names.ts";
import { Snapshots } from "../../api/snapshot.ts";
import type { AgentContext } from "../context.ts";
import { copyImage } from "../copy/copy.ts";
import { requireVolumeHere } from "../require-volume-here.ts";
import type { SnapshotStep, SnapshotView } from "./decide.ts";

/** Makes the one change that a decision asks for. */
export async function applySnapshotStep(
  context: AgentContext,
  step: Exclude<SnapshotStep, Outcome>,
  { snapshot }: SnapshotView,
): Promise<void> {
  const { store, signal, pools } = context;
  const { name } = snapshot.metadata;
  switch (step.do) {
    case "record":
      await store.updateStatus(Snapshots, { ...snapshot, status: step.status }, { signal });
      return;
    case "add-finalizer": {
      const finalizers = [...(snapshot.metadata.finalizers ?? []), ENGINE_FINALIZER];
      const metadata = { ...snapshot.metadata, finalizers };
      await store.update(Snapshots, { ...snapshot, metadata }, { signal });
      return;
    }
    case "remove-finalizer":
      await removeFinalizer(store, { resource: Snapshots, key: { name } }, ENGINE_FINALIZER, signal);
      return;
    case "copy":
      await copyImage(context, pools.require(snapshot.spec.pool), {
        source: snapshot.spec.volume,
        id: name,
        requireSource: () => requireVolumeHere(context, snapshot.spec.volume),
      });
      pools.touched(snapshot.spec.pool);
      return;
    case "remove-image":
      await pools.require(snapshot.spec.pool).backend.remove(name);
      pools.touched(snapshot.spec.pool);
  }
}
