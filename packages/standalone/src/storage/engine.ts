import {
  createHost,
  type LeaseTimes,
  startArbiter,
  startFencing,
  startGroupReverts,
  startServices,
} from "@mooring/engine";
import type { Logger, ObjectStore } from "@mooring/store";
import type { Parts } from "./parts.ts";

interface EngineControl {
  store: ObjectStore;
  parts: Parts;
  logger: Logger;
  /** As the agents have them. */
  leases: Partial<LeaseTimes>;
  /** A node that does not respond for so long is suspect; milliseconds. */
  nodeGraceMs: number;
}

/**
 * The parts that decide for all nodes: which node is lost, where a volume may be attached, and what the data services do
 * next. Once in a cluster.
 */
export async function startEngine({
  store,
  parts,
  logger,
  leases,
  nodeGraceMs: graceMs,
}: EngineControl): Promise<void> {
  const { clock } = createHost();
  await parts.start("fencing", (signal) => startFencing({ store, clock, leases, graceMs, logger, signal }));
  await parts.start("arbiter", (signal) => startArbiter({ store, logger, kubernetes: true, signal }));
  await parts.start("data services", (signal) => startServices({ store, logger, signal }));
  await parts.start("group reverts", async (signal) => startGroupReverts({ store, logger, signal }));
}
