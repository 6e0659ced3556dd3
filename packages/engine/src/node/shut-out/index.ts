import {
  isAlreadyExists,
  isConflict,
  isNotFound,
  type Outcome,
  Reconciler,
  source,
  stepFailpoints,
} from "@mooring/store";
import type { AgentContext } from "../context.ts";
import type { AgentInformers } from "../controllers.ts";
import { openPoolTopic } from "../read-context.ts";
import { applyShutOutStep } from "./apply.ts";
import { decide, type ShutOutStep, type ShutOutView } from "./decide.ts";
import { MissingAgents } from "./missing-agents.ts";
import { readShutOut } from "./read.ts";

const failpoints = stepFailpoints<Exclude<ShutOutStep, Outcome>>("engine/shut-out", {
  "take-lease-away": true,
  "shut-out": true,
});
/** Short, as the pod that has moved from a lost node waits for the image. */
const BACKOFF = { maxMs: 5000 };
const AT_A_TIME = 8;

/**
 * Shuts lost nodes out of the images that others want, in clusters which can do that (decision 118). Of the nodes that have the pool the
 * first that responds does it; a second one that thinks so too does the same again (decision 88).
 */
export async function runShutOut(
  context: AgentContext,
  { volumes, pools, attachments }: AgentInformers,
): Promise<void> {
  const { sharing, store, logger, host, signal } = context;
  if (sharing === undefined) return;
  const missing = new MissingAgents(sharing.agents, host.clock);
  const reconciler = new Reconciler<ShutOutView, ShutOutStep>({
    ...{ name: "shut-out", store, logger, failpoints, backoff: BACKOFF, concurrency: AT_A_TIME },
    sources: [source(volumes, ({ metadata, spec }) => (sharing.pools.has(spec.pool) ? [metadata.name] : []))],
    watched: [pools, attachments, sharing.agents, sharing.held],
    read: (name, { reader }) =>
      readShutOut(context, sharing, name, { reader, volumes: reader.over(volumes), missing }),
    decide,
    apply: (step, view) => applyShutOutStep(context, sharing, step, view),
    isOutdated: (error) => isConflict(error) || isNotFound(error) || isAlreadyExists(error),
  });
  context.pools.onOpened((pool) => {
    reconciler.changed(openPoolTopic(pool));
    // Those of a pool that this node has joined since were none of its keys.
    if (sharing.pools.has(pool))
      for (const { metadata } of volumes.byIndex("pool", pool)) reconciler.add(metadata.name);
  });
  await reconciler.run(signal);
}
