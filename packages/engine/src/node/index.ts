import { setMaxListeners } from "node:events";
import { EventRecorder, type Informer, KeyedLock, type KubeObject } from "@mooring/store";
import { DRIVER_NAME } from "../api/names.ts";
import type { AgentContext } from "./context.ts";
import { createInformers } from "./controllers.ts";
import { Copies } from "./copy/copies.ts";
import { Freezes } from "./freezes/index.ts";
import { runGroups } from "./group-snapshot/index.ts";
import { Sessions } from "./group-snapshot/sessions.ts";
import { ImageWatch } from "./health/images.ts";
import { beat, keepBeating, reportGone } from "./heartbeat/index.ts";
import { claimNode } from "./heartbeat/node-claim.ts";
import { openDevices } from "./open-devices.ts";
import { OpenPools } from "./open-pools.ts";
import type { AgentOptions } from "./options.ts";
import { detachFenced, detachOrphans } from "./orphans.ts";
import { ensurePool } from "./pool/ensure-pool.ts";
import { followStateFolder } from "./pool/follow-state-folder.ts";
import { runPools } from "./pool/index.ts";
import { releaseDevices } from "./release-devices.ts";
import { endShare, presentShares, runShares } from "./share/index.ts";
import { TrustedNetworks } from "./share/trusted-networks.ts";
import { openSharing } from "./sharing/open-sharing.ts";
import { sweepLeases } from "./sharing/sweep-leases.ts";
import { runShutOut } from "./shut-out/index.ts";
import { runSnapshots } from "./snapshot/index.ts";
import { runVolumes } from "./volume/index.ts";

const HEALTH_MS = 10_000;

/** An agent that works for its node. */
export interface Agent {
  /** Settles when everything is released. */
  readonly done: Promise<void>;
}

/**
 * The engine on one node: opens its Pools, makes, attaches, grows and removes the images of its Volumes, makes its
 * Snapshots, and reports that the node is alive. Resolves when the pools have been opened, or their failures recorded.
 * Throws NodeInUse when another agent runs for the node; `done` rejects with it when one has taken the node over.
 */
export async function startAgent(options: AgentOptions): Promise<Agent> {
  const { host, signal } = options;
  // Every watch, wait and child of the agent listens to it.
  setMaxListeners(0, signal);
  const { context, informers, watched } = await prepare(options);
  const { logger } = context;
  const devicesToo = options.releaseOnStop === true;
  const failing = new AbortController();
  let pooling: ReturnType<typeof runPools> | undefined;
  try {
    await context.freezes.undoLeftovers(host.exec);
    await followStateFolder(context);
    for (const pool of options.pools ?? []) await ensurePool(context, pool);
    const informing = watched.map((informer) => informer.run(signal));
    await Promise.all(watched.map((informer) => informer.synced(signal)));
    pooling = runPools(context, informers, AbortSignal.any([signal, failing.signal]));
    // Before volumes are read, so that none of them reports a pool that was about to be opened.
    await pooling.tried;
    await detachAllOrphans(context);
    await sweepLeases(context, informers.volumes).catch((error: unknown) => {
      logger.warn({ err: error }, "cannot remove leases without a volume");
    });
    await beat(context);
    const controllers = [runVolumes, runSnapshots, runGroups, runShares, runShutOut].map((run) =>
      run(context, informers),
    );
    const beside = [
      ...[keepBeating(context), context.images.run(context)],
      context.sharing?.leases.run(signal),
    ];
    const running = Promise.all([pooling.done, ...controllers, ...informing, ...beside]);
    const end = async (): Promise<void> => {
      await release(context, devicesToo);
      if (devicesToo) await reportStopped(context);
      else await context.sharing?.close(false);
    };
    return { done: running.finally(end).then(() => {}) };
  } catch (error) {
    failing.abort();
    // A pool that it is about to open would be open after all others are closed.
    await pooling?.done.catch(() => {});
    // Stopped while starting: pools that are open already must not stay locked. Whether an earlier agent has left
    // devices in others is not known, so nothing is reported about them.
    await release(context, devicesToo);
    await context.sharing?.close(false);
    throw error;
  }
}

interface Prepared {
  context: AgentContext;
  informers: ReturnType<typeof createInformers>;
  /** All of them, those of shared pools too. */
  watched: readonly Pick<Informer<KubeObject>, "run" | "synced">[];
}

/** Claims the node. Nothing is opened and no informer runs yet. */
async function prepare(options: AgentOptions): Promise<Prepared> {
  const { store, host, nodeID, stateDir, signal } = options;
  const logger = options.logger.child({ node: nodeID });
  const claim = await claimNode({ store, nodeID, stateDir, clock: host.clock, logger, signal });
  const informers = createInformers(store, logger);
  const { pools, volumes, snapshots, groups, attachments, shares } = informers;
  const shared =
    options.leases === undefined
      ? undefined
      : await openSharing(options, options.leases, { poolObjects: pools, logger });
  const context: AgentContext = {
    ...{ store, host, nodeID, claim, logger, signal, stateDir, sharing: shared?.sharing },
    networks: new TrustedNetworks(options.trustedNetworks),
    address: options.address,
    poolObjects: pools,
    events: new EventRecorder(store, { component: DRIVER_NAME, host: nodeID, logger }),
    pools: new OpenPools(),
    silentPools: new Map(),
    copies: new Copies(),
    healthMs: options.healthMs ?? HEALTH_MS,
    faults: new Map(),
    images: new ImageWatch(),
    shareLocks: new KeyedLock(),
    silences: new Map(),
    admitted: new Map(),
    freezes: new Freezes(stateDir, logger),
    sessions: new Sessions(),
  };
  const own = [pools, volumes, snapshots, groups, attachments, shares];
  return { context, informers, watched: [...own, ...(shared?.informers ?? [])] };
}

/** Detaches devices without a volume in all pools that are open now. */
async function detachAllOrphans(context: AgentContext): Promise<void> {
  const { logger, pools } = context;
  for (const pool of pools.list()) {
    await detachOrphans(context, pool).catch((error: unknown) => {
      logger.warn({ err: error, pool: pool.name }, "cannot detach devices without a volume");
    });
  }
  await detachFenced(context).catch((error: unknown) => {
    logger.warn({ err: error }, "cannot detach fenced devices without a volume");
  });
}

/** Unmounts idle pools; one with images in use stays mounted for them, and for the next agent. */
async function release(context: AgentContext, devicesToo: boolean): Promise<void> {
  const { pools, events, logger, sessions, stateDir } = context;
  await sessions.dropAll();
  await events.flush();
  if (devicesToo) {
    for (const name of await presentShares(stateDir)) {
      await endShare(context, name).catch((error: unknown) => {
        logger.warn({ err: error, volume: name }, "cannot end a share");
      });
    }
  }
  for (const pool of pools.list()) {
    const { name, backend } = pool;
    if (devicesToo) await releaseDevices(context, pool);
    await backend.close().catch(async (error: unknown) => {
      logger.info({ pool: name, why: String(error) }, "the pool stays mounted");
      await backend.leave();
    });
  }
}

/** Others need not wait for this node, nor for the leases that it has: unless a device of it is left. */
async function reportStopped(context: AgentContext): Promise<void> {
  const { logger, sharing } = context;
  const open = await openDevices(context);
  if (open.length > 0) logger.info({ open }, "devices stay; this node is not reported as gone");
  await sharing?.close(open.length === 0);
  if (open.length === 0) await reportGone(context);
}
