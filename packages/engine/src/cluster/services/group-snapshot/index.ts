import { mutate, type Outcome, Reconciler, source, stepFailpoints } from "@mooring/store";
import { type GroupSnapshot, GroupSnapshots } from "../../../api/group-snapshot.ts";
import { asRecorded } from "../../../errors.ts";
import { failure } from "../../../refused.ts";
import type { ServicesContext } from "../context.ts";
import { applyGroupStep } from "./apply.ts";
import { NodeClaims } from "./claims.ts";
import { decide } from "./decide.ts";
import { NODE_CLAIMS, readGroup } from "./read.ts";
import { hasEnded, isInBarrier } from "./states.ts";
import { NEW } from "./statuses.ts";
import type { CoordinatorStep, CoordinatorView } from "./view.ts";

const failpoints = stepFailpoints<Exclude<CoordinatorStep, Outcome>>("engine/group-snapshot", {
  "add-finalizer": true,
  "remove-finalizer": true,
  "resume-claim": true,
  "create-members": true,
  "delete-members": true,
  note: true,
  record: {
    preparing: true,
    quiescing: true,
    cutting: true,
    releasing: true,
    committed: true,
    ready: true,
    unready: true,
    failing: true,
    failed: true,
    deleting: true,
  },
});

/**
 * Leads every GroupSnapshot from its creation to snapshots of all members at one moment, or to none: writes the members'
 * Snapshots, begins each phase of the barrier, commits, removes.
 */
export async function runGroupSnapshots(context: ServicesContext): Promise<void> {
  const { store, logger, informers, signal } = context;
  const { groups, nodes, pools, snapshots, volumes } = informers;
  const claims = new NodeClaims(() => reconciler.changed(NODE_CLAIMS));
  const reconciler = new Reconciler<CoordinatorView, CoordinatorStep>({
    ...{ name: "cluster/group-snapshot", store, logger, backoff: { maxMs: 10_000 } },
    failpoints,
    sources: [source(groups, ({ metadata }) => [metadata.name])],
    watched: [nodes, pools, snapshots, volumes],
    read: (name, { reader }) => readGroup(context, claims, reader, name),
    decide,
    apply: (step, { group }) => applyGroupStep({ store, signal, claims }, step, group),
    failed: (name, error) => report(context, name, error),
    errorOf: failure,
  });
  const stop = groups.onChange((old, group) => {
    const { name = "" } = (group ?? old)?.metadata ?? {};
    // Barriers of an earlier life. News of one that we began ourselves may be older than what we have.
    if (old === undefined && group !== undefined && isInBarrier(group)) {
      claims.take(name, Object.keys(group.status?.nodes ?? {}));
    } else if (group === undefined || hasEnded(group)) claims.drop(name);
  });
  await reconciler.run(signal).finally(stop);
}

/** Records in the status why the group snapshot cannot go on for now. */
async function report(
  { store, signal, logger }: ServicesContext,
  name: string,
  error: unknown,
): Promise<void> {
  if (signal.aborted) return;
  const put = (group: GroupSnapshot): void => {
    group.status = { ...(group.status ?? NEW), error: asRecorded(error) };
  };
  const options = { subresource: "status", signal } as const;
  await mutate(store, GroupSnapshots, { name }, { change: put, ...options }).catch((cause: unknown) => {
    logger.warn({ err: cause, group: name }, "cannot record a failure");
  });
}
