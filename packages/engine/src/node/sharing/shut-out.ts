import {
  getIfAny,
  type Informer,
  isAlreadyExists,
  isConflict,
  isNotFound,
  type Lease,
  type ObjectStore,
} from "@mooring/store";
import { LEASE_IMAGE_LABEL, LEASE_NODE_LABEL } from "../../api/names.ts";
import { isLostNode, NodeAgents } from "../../api/node-agent.ts";
import { canShutOut, poolNodes } from "../../api/pool.ts";
import type { Volume } from "../../api/volume.ts";
import { endsByCluster, hasHolder, holderOf, isShutOut, isTaken } from "../../leases/decide.ts";
import type { AgentContext, Sharing } from "../context.ts";
import type { OpenPool } from "../open-pools.ts";

const POLL_MS = 1000;
/** After a round in which the cluster did not do it. */
const RETRY_MS = 5000;
/** An agent whose object somebody has deleted makes another at once, unless it is lost. */
const MISSING_MS = 20_000;
const AT_A_TIME = 8;

/** An image that a lost node may still write to, in a pool whose cluster can end that. */
interface Due {
  volume: Volume;
  pool: OpenPool;
  lease: Lease | undefined;
  /** The lost one. */
  nodeID: string;
}

/**
 * Shuts lost nodes out of the images that they have in clusters, until the signal. Of the nodes that have the pool the first that
 * responds does it; a second one that thinks so too does the same again. Nothing here depends on a lease's time.
 */
export async function shutOutLost(
  context: AgentContext,
  volumes: Pick<Informer<Volume>, "byIndex">,
): Promise<void> {
  const { sharing, signal, host } = context;
  if (sharing === undefined || sharing.pools.size === 0) return;
  const missing = new Map<string, number>();
  let failed = false;
  while (!signal.aborted) {
    await host.clock.sleep(failed ? RETRY_MS : POLL_MS, signal).catch(() => {});
    if (signal.aborted) return;
    failed = !(await round(context, due(context, sharing, { volumes, missing })));
  }
}

/** Of what is in the caches: whatever is done about it is done upon what the store has then. */
function due(
  { pools, poolObjects, nodeID: own, host }: AgentContext,
  { agents, held }: Sharing,
  { volumes, missing }: { volumes: Pick<Informer<Volume>, "byIndex">; missing: Map<string, number> },
): Due[] {
  const now = host.clock.sinceBoot();
  const isLost = (node: string): boolean => {
    const agent = agents.get(node);
    if (agent !== undefined) {
      missing.delete(node);
      return isLostNode(agent);
    }
    const since = missing.get(node) ?? now;
    missing.set(node, since);
    return now - since >= MISSING_MS;
  };
  const leases = new Map(held.list().map((lease) => [lease.metadata.labels?.[LEASE_IMAGE_LABEL], lease]));
  const isReady = (node: string) => agents.get(node)?.status?.state === "Ready";
  const found: Due[] = [];
  for (const pool of pools.list()) {
    const object = poolObjects.get(pool.name);
    if (object === undefined || !canShutOut(object)) continue;
    if (poolNodes(object).filter(isReady).sort()[0] !== own) continue;
    for (const volume of volumes.byIndex("pool", pool.name)) {
      const lease = leases.get(volume.metadata.name);
      const nodeID = lease?.metadata.labels?.[LEASE_NODE_LABEL] ?? volume.status?.ownerID ?? "";
      if (nodeID === "" || nodeID === own || !isLost(nodeID) || isOver(lease, nodeID)) continue;
      found.push({ volume, pool, lease, nodeID });
    }
  }
  return found;
}

/** The cluster has done it; or an earlier version holds the lease, which ends by its time. */
function isOver(lease: Lease | undefined, nodeID: string): boolean {
  if (lease === undefined) return false;
  return isShutOut(lease, nodeID) || (hasHolder(lease) && !endsByCluster(lease));
}

/** False when something is left to do. */
async function round(context: AgentContext, all: readonly Due[]): Promise<boolean> {
  const left = [...all];
  const failures: unknown[] = [];
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift())
      await shutOut(context, next).catch((error: unknown) => failures.push(error));
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  const [first] = failures;
  if (first === undefined || context.signal.aborted) return true;
  context.logger.warn(
    { err: first, images: failures.length },
    "cannot shut a lost node out of its images yet",
  );
  return false;
}

/**
 * First nobody has the lease, so that the node finds out when it is back and opens nothing more; then the cluster refuses what it
 * has under way; then others learn of it. Killed in between, the next round goes on.
 */
async function shutOut(context: AgentContext, { volume, pool, lease, nodeID }: Due): Promise<void> {
  const { store, sharing, signal, logger, events } = context;
  const { name } = volume.metadata;
  if (sharing === undefined || (await responds(store, nodeID, signal))) return;
  try {
    const begun = lease !== undefined && isTaken(lease) && holderOf(lease) === nodeID;
    const taken = begun ? lease : await sharing.leases.takeAway(volume, lease, nodeID, signal);
    await pool.backend.renew(name);
    await sharing.leases.markShutOut(taken, nodeID, signal);
  } catch (error) {
    // It is back, or somebody else was faster: what is due then is found by the next round.
    if (isConflict(error) || isNotFound(error) || isAlreadyExists(error)) return;
    throw error;
  }
  logger.warn({ image: name, lost: nodeID }, "the cluster has shut a lost node out of an image");
  events.event(volume, "Warning", "NodeShutOut", `the cluster refuses what node "${nodeID}" still writes`);
}

/** Just now, by the store. */
async function responds(store: ObjectStore, nodeID: string, signal: AbortSignal): Promise<boolean> {
  const agent = await getIfAny(store, NodeAgents, { name: nodeID }, signal);
  return agent !== undefined && !isLostNode(agent);
}
