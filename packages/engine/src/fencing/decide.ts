import type { NodeAgent } from "../api/node-agent.ts";
import type { NodeWord } from "./conditions.ts";

/** Everything that a decision about a node may depend on. Times are from the observer's own clock. */
export interface FencingView {
  agent: NodeAgent;
  /** For how long its heartbeat has not changed. */
  silentMs: number;
  /** A silence of this length makes a node suspect: longer than any of its leases can live on. */
  graceMs: number;
  /** A person has said that the machine is off: taint `node.kubernetes.io/out-of-service`. */
  outOfService: boolean;
  /** The leases of images that it holds, and how long each still counts. */
  leases: readonly { image: string; leftMs: number }[];
}

/**
 * What is to be said of a node; undefined: nothing new. Only its own agent makes it Ready again. Silence makes it
 * Suspect and nothing more: it may still write. It is fenced when a person says that it is off, or when every lease
 * that it holds is lost beyond doubt: its devices were cut off before that. Pure.
 */
export function decide(view: FencingView): NodeWord | undefined {
  const state = view.agent.status?.state;
  if (view.silentMs < view.graceMs || state === undefined || state === "Gone" || state === "Fenced")
    return undefined;
  const word = wordFor(view);
  return word.state === state ? undefined : word;
}

function wordFor({ outOfService, leases, graceMs }: FencingView): NodeWord {
  const silence = `the agent has not answered for ${Math.round(graceMs / 1000)} s`;
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
  const held = leases.filter(({ leftMs }) => leftMs > 0).length;
  const why = held === 0 ? "" : `, ${held} leases have not run out yet`;
  return { state: "Suspect", reason: "HeartbeatStopped", message: `${silence}${why}` };
}
