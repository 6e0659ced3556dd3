import { MOORING_API_VERSION, NodeAgents } from "@mooring/engine";
import { mutate, type ObjectStore } from "@mooring/store";

/** A third of the time after which a silent node is suspected. */
const BEAT_MS = 2_000;

/** Reports of the guest what an agent in it would report: it lives, at this address. The guest has a kernel, and no agent. */
export class AgentOfGuest {
  readonly name = "guest";
  readonly #store: ObjectStore;
  readonly #address: string;
  #timer: NodeJS.Timeout | undefined;
  #beat: Promise<unknown> = Promise.resolve();

  private constructor(store: ObjectStore, address: string) {
    this.#store = store;
    this.#address = address;
  }

  static async start(store: ObjectStore, address: string): Promise<AgentOfGuest> {
    const agent = new AgentOfGuest(store, address);
    const metadata = { name: agent.name };
    await store.create(NodeAgents, {
      apiVersion: MOORING_API_VERSION,
      kind: "NodeAgent",
      metadata,
      spec: {},
    });
    await agent.#live();
    agent.#timer = setInterval(() => {
      // The API server may be busy; the next one reports it.
      agent.#beat = agent.#live().catch(() => {});
    }, BEAT_MS);
    return agent;
  }

  async #live(): Promise<void> {
    const heartbeat = new Date().toISOString();
    await mutate(
      this.#store,
      NodeAgents,
      { name: this.name },
      {
        change: (agent) => {
          agent.status = { state: "Ready", heartbeat, address: this.#address };
        },
        subresource: "status",
      },
    );
  }

  /** Takes the node away again. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#beat;
    await this.#store.delete(NodeAgents, { name: this.name }).catch(() => {});
  }
}
