import { HEARTBEAT_FRESH, isFencedNode, type NodeAgent } from "../../api/node-agent.ts";
import type { NodeReport } from "../../api/node-conditions.ts";

/** Everything that a decision about a node may depend on. Times are from the observer's own clock. */
export interface FencingView {
  agent: NodeAgent;
  /** For how long its heartbeat has not changed. */
  silentMs: number;
  /** We have seen it change, so it did beat when the silence began: it is not only that we have just come. */
  beaten: boolean;
  /** A silence of this length makes a node suspect: longer than any of its leases can live on. */
  graceMs: number;
  /** An operator has reported that the machine is off: taint `node.kubernetes.io/out-of-service`. */
  outOfService: boolean;
  /**
   * The leases of images that it has, or has lost otherwise than by giving them back, and how long each still counts:
   * Infinity where only the cluster that has the image can end it, and has not yet.
   */
  leases: readonly { image: string; leftMs: number }[];
}

/**
 * What is to be reported of a node; undefined: nothing new. Only its own agent makes it Ready again. Silence makes it
 * Suspect and nothing more: it may still write. It is fenced when an operator reports that it is off, or when every lease
 * that it has is lost beyond doubt: its devices were fenced before that. Pure.
 */
export function decide(view: FencingView): NodeReport | undefined {
  const { agent, silentMs, graceMs, beaten } = view;
  const state = agent.status?.state;
  if (state === undefined) return undefined;
  if (silentMs < graceMs) return beaten ? contradiction(agent) : undefined;
  // A state without its condition was typed by an operator, and proves nothing.
  if (isFencedNode(agent)) return undefined;
  const report = reportFor(view);
  return report.state === state ? undefined : report;
}

/**
 * A node is fenced after a long silence only: one that has just sent its heartbeat was called that by an operator who did
 * not know.
 */
function contradiction(agent: NodeAgent): NodeReport | undefined {
  const { state } = agent.status ?? {};
  // The last report of an agent comes right after a beat.
  const wrong = state === "Fenced" || (state === "Gone" && !isFencedNode(agent));
  const message = `its agent responds, and yet it was reported as ${state}`;
  return wrong ? { state: "Suspect", reason: HEARTBEAT_FRESH, message } : undefined;
}

function reportFor({ outOfService, leases, graceMs }: FencingView): NodeReport {
  const silence = `the agent has not responded for ${Math.round(graceMs / 1000)} s`;
  if (outOfService) {
    return {
      state: "Fenced",
      reason: "OutOfService",
      message: `${silence}, and the node is tainted out-of-service`,
    };
  }
  if (leases.length > 0 && leases.every(({ leftMs }) => leftMs === 0)) {
    const images =
      leases.length === 1 ? "the lease of its image" : `the leases of its ${leases.length} images`;
    return { state: "Fenced", reason: "LeasesLost", message: `${silence}, and ${images} ran out` };
  }
  const counts = leases.filter(({ leftMs }) => leftMs > 0);
  const open = counts.filter(({ leftMs }) => leftMs === Number.POSITIVE_INFINITY).length;
  const left = counts.length - open;
  const why = left === 0 ? "" : `, ${left} leases have not run out yet`;
  const cluster = open === 0 ? "" : `, its cluster has not shut it out of ${open} images yet`;
  return { state: "Suspect", reason: "HeartbeatStopped", message: `${silence}${why}${cluster}` };
}
