import { type Outcome, Reconciler, source, stepFailpoints, wait } from "@mooring/store";
import { failure } from "../../refused.ts";
import type { AgentContext } from "../context.ts";
import type { AgentInformers } from "../controllers.ts";
import { applyPoolStep } from "./apply.ts";
import { decide, type PoolStep, type PoolView } from "./decide.ts";
import { canJoin, isPoolHere, joinPool } from "./layout-of.ts";
import { readPool, UsageOnce } from "./read.ts";
import { reportNotReady } from "./report-not-ready.ts";
import { watchUsage } from "./watch-usage.ts";

const USAGE_EVERY_MS = 30_000;
/** The agent reads usage this long after the last change in a pool, so that many changes at once cost one write. */
const USAGE_DELAY_MS = 250;

const failpoints = stepFailpoints<Exclude<PoolStep, Outcome>>("engine/pool", {
  "add-finalizer": true,
  "remove-finalizer": true,
  join: true,
  "report-no-node": true,
  open: true,
  "close-idle": true,
  reopen: true,
  limit: true,
  "hold-writers": true,
  enlarge: true,
  "record-usage": true,
  "report-to-volumes": true,
  remove: true,
});

/**
 * Opens the pools of this node, keeps their usage up to date, removes those that are deleted and empty. `tried` resolves
 * when each that is there now was opened, or could not be.
 */
export function runPools(
  context: AgentContext,
  informers: AgentInformers,
  signal: AbortSignal,
): { tried: Promise<void>; done: Promise<void> } {
  const { pools, volumes, snapshots } = informers;
  const usage = new UsageOnce();
  // Before volumes are read: those of such a pool belong here from the start.
  for (const pool of pools.list()) if (canJoin(context, pool)) joinPool(context, pool);
  const own = pools.list().filter((pool) => isPoolHere(context, pool));
  const first = firstTries(own.map(({ metadata }) => metadata.name));
  const ended = (name: string): void => {
    usage.forget(name);
    context.silentPools.delete(name);
    first.tried(name);
  };
  const reconciler = new Reconciler<PoolView, PoolStep>({
    ...{ name: "pool", store: context.store, logger: context.logger },
    // How much is used, and whether writers are suspended, emits no events.
    // Nor does a file that comes, or time.
    polls: ["join", "report-no-node", "record-usage", "report-to-volumes", "close-idle", "reopen"],
    failpoints,
    sources: [source(pools, ({ metadata }) => [metadata.name])],
    watched: [volumes, snapshots],
    read: (name, { reader, dry = false }) => readPool(context, informers, name, { reader, usage, dry }),
    decide: (view) => {
      const step = decide(view);
      return step.do === "done" && view.usage !== undefined ? wait(USAGE_EVERY_MS) : step;
    },
    apply: (step, view) => applyPoolStep(context, step, view),
    ended: async (name) => ended(name),
    async failed(name, error) {
      usage.forget(name);
      await reportNotReady(context, name, error);
      first.tried(name);
    },
    errorOf: failure,
  });
  context.pools.onTouched((name) => reconciler.add(name, USAGE_DELAY_MS));
  const done = Promise.all([
    reconciler.run(signal).finally(first.over),
    watchUsage(context, signal, (name) => reconciler.add(name)),
  ]);
  return { tried: first.all, done: done.then(() => {}) };
}

/** Resolves when all of these were tried once, or the agent tries no more. */
function firstTries(names: readonly string[]) {
  const left = new Set(names);
  let over = () => {};
  const all = new Promise<void>((resolve) => {
    over = resolve;
  });
  if (left.size === 0) over();
  return {
    all,
    over: () => over(),
    tried(name: string): void {
      left.delete(name);
      if (left.size === 0) over();
    },
  };
}
