import { type Outcome, Reconciler, source, stepFailpoints } from "@mooring/store";
import { type Snapshot, Snapshots } from "../../api/snapshot.ts";
import { failure, Refused } from "../../refused.ts";
import type { AgentContext } from "../context.ts";
import type { AgentInformers } from "../controllers.ts";
import { reportFailure } from "../failure.ts";
import type { Whole } from "../health/images.ts";
import { openPoolTopic, readContext } from "../read-context.ts";
import { applySnapshotStep } from "./apply.ts";
import { decide, type SnapshotStep, type SnapshotView } from "./decide.ts";
import { readSnapshot } from "./read.ts";

const failpoints = stepFailpoints<Exclude<SnapshotStep, Outcome>>("engine/snapshot", {
  "add-finalizer": true,
  "remove-finalizer": true,
  record: { copying: true, ready: true, lost: true, settled: true },
  copy: true,
  "remove-image": true,
});

/** Short, because what the agent waits for most often, the end of a mount, sends no event. */
const BACKOFF = { maxMs: 10_000 };

function wholeOf({ metadata, spec, status }: Snapshot): Whole[] {
  const whole = status?.readyToUse === true && metadata.deletionTimestamp === undefined;
  return whole ? [{ name: metadata.name, pool: spec.pool, size: status.restoreSize ?? 0 }] : [];
}

/** Takes the snapshots of this node as far as they can go: makes them, and removes their images. */
export function runSnapshots(
  context: AgentContext,
  { snapshots, volumes, pools, groups }: AgentInformers,
): Promise<void> {
  const reconciler = new Reconciler<SnapshotView, SnapshotStep>({
    name: "node/snapshot",
    store: context.store,
    logger: context.logger,
    failpoints,
    backoff: BACKOFF,
    sources: [source(snapshots, ({ metadata }) => [metadata.name])],
    watched: [volumes, pools, groups, ...(context.sharing === undefined ? [] : [context.sharing.agents])],
    read: (name, { reader }) => readSnapshot(readContext(context, reader), name),
    decide,
    apply: (step, view) => applySnapshotStep(context, step, view),
    failed: (name, error) =>
      reportFailure(context, { resource: Snapshots, name }, error, {
        blank: { readyToUse: false },
        // Only attempts: the count of what was refused would bring the key back at once, each time.
        options: { count: !(error instanceof Refused) },
      }),
    errorOf: failure,
  });
  context.pools.onOpened((pool) => reconciler.changed(openPoolTopic(pool)));
  context.images.add({
    wholes: () => snapshots.list().flatMap(wholeOf),
    ask: (name) => reconciler.add(name),
  });
  return reconciler.run(context.signal);
}
