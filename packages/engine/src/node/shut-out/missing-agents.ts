import type { Informer } from "@mooring/store";
import type { NodeAgent } from "../../api/node-agent.ts";
import type { Clock } from "../../host/host.ts";

/**
 * For how long nodes have had no NodeAgent, by this process's own clock and as far as it has seen: after a restart a node gets its
 * whole time anew, as it does from the observer of silent ones.
 */
export class MissingAgents {
  readonly #clock: Clock;
  readonly #since = new Map<string, number>();

  constructor(agents: Pick<Informer<NodeAgent>, "onChange">, clock: Clock) {
    this.#clock = clock;
    agents.onChange((_old, agent) => {
      if (agent !== undefined) this.#since.delete(agent.metadata.name);
    });
  }

  /** Milliseconds; 0 for one that is there. */
  missingMs(node: string, agent: NodeAgent | undefined): number {
    if (agent !== undefined) return 0;
    const now = this.#clock.sinceBoot();
    const since = this.#since.get(node) ?? now;
    this.#since.set(node, since);
    return now - since;
  }
}
