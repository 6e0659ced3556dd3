import { failpoint, type Outcome } from "@mooring/store";
import { clientsOf } from "../../leases/clients.ts";
import type { AgentContext, Sharing } from "../context.ts";
import type { ShutOutStep, ShutOutView } from "./decide.ts";

const afterRefused = failpoint("engine/shut-out/writes-refused");

/**
 * Makes a step; each may be made twice. Every write is upon the version of the lease that was read, so that a node that is
 * back, or another one that is faster, wins. Throws Conflict then.
 */
export async function applyShutOutStep(
  context: AgentContext,
  sharing: Sharing,
  step: Exclude<ShutOutStep, Outcome>,
  { volume, lease, nodeID }: ShutOutView,
): Promise<void> {
  const { pools, signal, logger, events } = context;
  if (step.do === "take-lease-away" || lease === undefined) {
    await sharing.leases.takeAway(volume, lease, nodeID, signal);
    return;
  }
  const { name } = volume.metadata;
  await pools.require(volume.spec.pool).backend.renew(name, clientsOf(lease));
  afterRefused();
  await sharing.leases.markShutOut(lease, nodeID, signal);
  logger.warn({ image: name, lost: nodeID }, "the cluster has shut a lost node out of an image");
  events.event(volume, "Warning", "NodeShutOut", `the cluster refuses what node "${nodeID}" still writes`);
}
