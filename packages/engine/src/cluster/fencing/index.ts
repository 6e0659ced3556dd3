import {
  createInformer,
  delay,
  EventRecorder,
  isConflict,
  isNotFound,
  type Lease,
  Leases,
  type Logger,
  listAll,
  type Node,
  Nodes,
  type ObjectStore,
} from "@mooring/store";
import { DRIVER_NAME, LEASE_IMAGE_LABEL, LEASE_NAMESPACE } from "../../api/names.ts";
import { isFencedNode, type NodeAgent, NodeAgents } from "../../api/node-agent.ts";
import { type NodeReport, nodeConditions } from "../../api/node-conditions.ts";
import type { Clock } from "../../host/host.ts";
import { holderOf, writesFor } from "../../leases/decide.ts";
import { LEASE_TIMES, type LeaseTimes } from "../../leases/image-leases.ts";
import { LeaseWatch } from "../../leases/lease-watch.ts";
import { decide, type FencingView } from "./decide.ts";
import { LostLeases } from "./lost-leases.ts";
import { releaseImages } from "./release-images.ts";

/** An operator's report that a machine is off and will not come back by itself. */
export const OUT_OF_SERVICE = "node.kubernetes.io/out-of-service";

/** When silence counts, and for how long it is only suspicion. Times in milliseconds. */
export interface FencingOptions {
  store: ObjectStore;
  clock: Clock;
  logger: Logger;
  signal: AbortSignal;
  /** A node that is silent for so long is suspect; default 40,000. More than twice the life of a lease. */
  graceMs?: number;
  /** As the agents have them. */
  leases?: Partial<LeaseTimes>;
}

const DEFAULT_GRACE_MS = 40_000;
const POLL_MS = 1000;

/**
 * Watches the agents' heartbeats and reports which node is suspect, and which is fenced. Everything is measured from
 * when this process saw it, by its own clock: after a restart a node gets its whole time anew.
 */
export async function startFencing(options: FencingOptions): Promise<{ done: Promise<void> }> {
  const { store, clock, logger, signal } = options;
  const agents = createInformer(store, NodeAgents, { logger });
  const nodes = createInformer(store, Nodes, { logger });
  const watch = new LeaseWatch(store, clock, logger);
  const lost = new LostLeases(store, clock, { ...LEASE_TIMES, ...options.leases });
  const informers = [agents.run(signal), nodes.run(signal), watch.informer.run(signal)];
  await Promise.all([agents, nodes, watch.informer].map((informer) => informer.synced(signal)));
  const heartbeats = new Map<string, { beat: string; at: number; beaten: boolean }>();
  const observe = ({ metadata: { name }, status }: NodeAgent): Pick<FencingView, "silentMs" | "beaten"> => {
    const now = clock.sinceBoot();
    const beat = status?.heartbeat ?? "";
    const known = heartbeats.get(name);
    if (known?.beat === beat) return { silentMs: now - known.at, beaten: known.beaten };
    const beaten = known !== undefined;
    heartbeats.set(name, { beat, at: now, beaten });
    return { silentMs: 0, beaten };
  };
  agents.onChange((_old, agent) => {
    if (agent !== undefined) observe(agent);
  });
  const events = new EventRecorder(store, { component: DRIVER_NAME, host: "fencing", logger });
  const check = async (): Promise<void> => {
    for (const agent of agents.list()) {
      const { name } = agent.metadata;
      const now = { seen: observe(agent), node: nodes.get(name) };
      await evaluate({ ...options, events, lost }, watch, agent, now).catch((error: unknown) => {
        if (!signal.aborted) logger.warn({ err: error, node: name }, "cannot check whether a node is silent");
      });
    }
  };
  const done = (async () => {
    while (!signal.aborted) {
      await check();
      await delay(POLL_MS, signal).catch(() => {});
    }
    await Promise.all(informers);
  })();
  return { done };
}

type Evaluation = FencingOptions & { events: EventRecorder; lost: LostLeases };

async function evaluate(
  options: Evaluation,
  watch: LeaseWatch,
  agent: NodeAgent,
  { seen, node }: { seen: Pick<FencingView, "silentMs" | "beaten">; node: Node | undefined },
): Promise<void> {
  const { store, graceMs = DEFAULT_GRACE_MS, lost, signal } = options;
  const { name } = agent.metadata;
  // The store is not read for nodes that respond.
  const silent = seen.silentMs >= graceMs;
  if (!silent) lost.forget(name);
  const held = silent ? await heldBy(name, store, signal) : [];
  const leases = silent ? await leasesOf(name, held, options, watch) : [];
  const outOfService = (node?.spec?.taints ?? []).some(({ key }) => key === OUT_OF_SERVICE);
  const report = decide({ agent, ...seen, graceMs, outOfService, leases });
  // Before others get what it had: that it has nothing any more is known by its last leases.
  if (report !== undefined && !(await publish(options, agent, report, silent))) return;
  if (silent && report?.state !== "Fenced" && !isFencedNode(agent))
    await releaseImages(store, name, held, signal);
}

/** Reports it of the node; false: a heartbeat came first. */
async function publish(
  { store, clock, logger, events, signal }: Evaluation,
  agent: NodeAgent,
  report: NodeReport,
  silent: boolean,
): Promise<boolean> {
  const { name } = agent.metadata;
  logger.warn(
    { node: name, ...report },
    silent ? "a node does not respond" : "a node was reported lost and is not",
  );
  const written = await write(store, agent, { report, now: clock.now() }, signal);
  if (written) events.event(agent, "Warning", `Node${report.state}`, report.message);
  return written;
}

/** The leases that the node has; of a node without any, those of the images that it has by their records. */
async function leasesOf(
  name: string,
  held: readonly Lease[],
  { leases: times, lost, signal }: Evaluation,
  watch: LeaseWatch,
): Promise<FencingView["leases"]> {
  const { safetyMs } = { ...LEASE_TIMES, ...times };
  if (held.length === 0) return lost.of(name, signal);
  lost.forget(name);
  return held.map((lease) => ({
    image: lease.metadata.labels?.[LEASE_IMAGE_LABEL] ?? "",
    leftMs: writesFor(lease, watch.unchangedMs(lease), safetyMs),
  }));
}

/** From the store, not from the watch: a renewal that is under way to us must count. */
async function heldBy(name: string, store: ObjectStore, signal: AbortSignal): Promise<Lease[]> {
  const selection = { namespace: LEASE_NAMESPACE, labelSelector: LEASE_IMAGE_LABEL };
  const { items } = await listAll(store, Leases, { ...selection, signal });
  return items.filter((lease) => holderOf(lease) === name);
}

/** Written upon the version that was read: a heartbeat that comes first wins, and the result is false. */
async function write(
  store: ObjectStore,
  agent: NodeAgent,
  { report, now }: { report: NodeReport; now: Date },
  signal: AbortSignal,
): Promise<boolean> {
  const conditions = nodeConditions(agent.status, report, now);
  const status = { ...agent.status, state: report.state, conditions };
  try {
    await store.updateStatus(NodeAgents, { ...agent, status }, { signal });
    return true;
  } catch (error) {
    if (!isConflict(error) && !isNotFound(error)) throw error;
    return false;
  }
}
