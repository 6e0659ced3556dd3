import { MOORING_API_VERSION, NodeAgents } from "@mooring/engine";
import { mutate, type ObjectStore } from "@mooring/store";

/** A third of the time after which a silent node is suspected. */
const BEAT_MS = 2_000;

/** Reports of a machine that has no agent what an agent on it would report: it lives, at this address. */
export class ReportedNode {
  readonly name: string;
  readonly #store: ObjectStore;
  readonly #address: string;
  #timer: NodeJS.Timeout | undefined;
  #beat: Promise<unknown> = Promise.resolve();

  private constructor(store: ObjectStore, name: string, address: string) {
    this.name = name;
    this.#store = store;
    this.#address = address;
  }

  static async start(store: ObjectStore, name: string, address: string): Promise<ReportedNode> {
    const agent = new ReportedNode(store, name, address);
    const metadata = { name };
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
