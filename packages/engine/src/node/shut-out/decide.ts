import { DONE, type Lease, type Outcome, wait } from "@mooring/store";
import { isLostNode, type NodeAgent } from "../../api/node-agent.ts";
import type { Volume } from "../../api/volume.ts";
import { endsByCluster, hasHolder, holderOf, isShutOut, isTaken } from "../../leases/decide.ts";

/** An agent whose object an operator has deleted makes another at once, unless it is lost. */
const MISSING_MS = 20_000;

/** An image in a pool whose cluster can shut nodes out, and another node that may write to it: this node is to shut it out. */
export interface ShutOutView {
  volume: Volume;
  /** Undefined: an operator has deleted it, or the node has never had one. */
  lease: Lease | undefined;
  /** The node that has the image, by its lease or else by the volume's record. */
  nodeID: string;
  /** That node's. */
  agent: NodeAgent | undefined;
  /** Somebody else wants it: see `isAskedFor`. */
  asked: boolean;
  /** For how long there has been none, as far as this process has seen. */
  missingMs: number;
}

/** One step to keep a lost node from writing. */
export type ShutOutStep =
  | Outcome
  /** No node has the lease any more: the lost one finds out when it is back, and opens nothing more. */
  | { do: "take-lease-away" }
  /** The cluster refuses what the node has under way; then others learn of it. */
  | { do: "shut-out" };

/** The next step for an image that another node may write to. Nothing here depends on a lease's time. Pure. */
export function decide({ lease, nodeID, agent, asked, missingMs }: ShutOutView): ShutOutStep {
  if (isDone(lease, nodeID)) return DONE;
  if (agent === undefined && missingMs < MISSING_MS) return wait(MISSING_MS - missingMs);
  if (agent !== undefined && !isLostNode(agent)) return DONE;
  const isBegun = lease !== undefined && isTaken(lease) && holderOf(lease) === nodeID;
  if (isBegun) return { do: "shut-out" };
  // One whose object was deleted is revoked, whoever wants what it has.
  return agent === undefined || asked ? { do: "take-lease-away" } : DONE;
}

/** The cluster has done it; or an earlier version holds the lease, which ends by its time. */
function isDone(lease: Lease | undefined, nodeID: string): boolean {
  if (lease === undefined) return false;
  return isShutOut(lease, nodeID) || (hasHolder(lease) && !endsByCluster(lease));
}
