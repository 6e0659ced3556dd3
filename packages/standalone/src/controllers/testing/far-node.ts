import { setTimeout as pause } from "node:timers/promises";
import { type NodeAgent, NodeAgents } from "@mooring/engine";
import {
  apiVersionOf,
  getIfAny,
  isAlreadyExists,
  isNotFound,
  type Lease,
  Leases,
  mutate,
  Nodes,
  type ObjectStore,
  type Pod,
  Pods,
} from "@mooring/store";
import { eventually } from "@mooring/store/testing";

/** More often than any controller reads it. */
const BEAT_MS = 500;
/** Milliseconds; how long that is in truth depends on how often the clock is read. */
const GRACE_MS = 10_000;

/** A node without a kubelet: the test reports in its stead what a kubelet and an agent there would. */
export class FarNode {
  readonly name = "far";
  readonly #store: ObjectStore;
  /** Nodes that are heard of. */
  readonly #beating: Set<string>;
  #reads = 0;
  readonly graceMs = GRACE_MS;

  /** `others`: their own kubelets beat too seldom for the short grace of a test. */
  constructor(store: ObjectStore, others: readonly string[]) {
    this.#store = store;
    this.#beating = new Set([this.name, ...others]);
  }

  /** Renews the lease of each node that is not silent, until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      for (const name of this.#beating) await this.#renew(name);
      await pause(BEAT_MS, undefined, { signal }).catch(() => {});
    }
  }

  /** The node is there, ready, and heard of again; no pod is placed on it that does not name it. */
  async beats(): Promise<void> {
    const { name } = this;
    this.#beating.add(name);
    const node = { apiVersion: "v1", kind: "Node", metadata: { name }, spec: { unschedulable: true } };
    await this.#store.create(Nodes, node).catch(forgiveExisting);
    const ready = { type: "Ready", status: "True" as const, reason: "KubeletReady" };
    const change = (found: typeof node & { status?: object }) => ({
      ...found,
      status: { ...found.status, conditions: [ready] },
    });
    await mutate(this.#store, Nodes, { name }, { change: change as never, subresource: "status" });
  }

  /** The clock of who observes the nodes: the third reading without a beat finds a node silent, however late the readings come. */
  readonly sinceBoot = (): number => 0.4 * GRACE_MS * this.#reads++;

  /** Nothing is heard of a node any more, until that is noticed; of one with a kubelet until that beats again. */
  async falls(name: string = this.name): Promise<void> {
    this.#beating.delete(name);
    await eventually(`silence of ${name} to be noticed`, async () => {
      // Its namespace may go, and with it all leases: of a node without one no controller can say.
      const lease = await getIfAny(this.#store, Leases, { namespace: "kube-node-lease", name });
      if (lease === undefined) return true;
      const node = await getIfAny(this.#store, Nodes, { name });
      const ready = node?.status?.conditions?.find(({ type }) => type === "Ready");
      return ready?.status !== "True" || this.#beating.has(name);
    });
  }

  /** The node is heard of again, as its kubelet reports the rest. */
  rises(name: string): void {
    this.#beating.add(name);
  }

  /** Its agent is known not to write any more, or writes again. */
  async isFenced(fenced: boolean): Promise<void> {
    const { name } = this;
    const agent = {
      apiVersion: apiVersionOf(NodeAgents),
      kind: NodeAgents.kind,
      metadata: { name },
      spec: {},
    };
    await this.#store.create<NodeAgent>(NodeAgents, agent as NodeAgent).catch(forgiveExisting);
    const state = fenced ? ("Fenced" as const) : ("Ready" as const);
    const lastTransitionTime = `${new Date().toISOString().slice(0, 19)}Z`;
    const common = { reason: "Test", message: "", lastTransitionTime };
    const conditions = [
      { ...common, type: "Ready", status: fenced ? ("Unknown" as const) : ("True" as const) },
      { ...common, type: "Fenced", status: fenced ? ("True" as const) : ("False" as const) },
    ];
    const change = (found: NodeAgent): void => {
      found.status = { ...found.status, state, conditions };
    };
    await mutate(this.#store, NodeAgents, { name }, { change, subresource: "status" });
  }

  /** A pod that runs there. */
  async pod(name: string): Promise<Pod> {
    const containers = [{ name: "main", image: "host" }];
    const spec = { nodeName: this.name, containers };
    return this.#store.create(Pods, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { namespace: "default", name },
      spec,
    });
  }

  async #renew(name: string): Promise<void> {
    const key = { namespace: "kube-node-lease", name };
    const spec = { holderIdentity: name, renewTime: new Date().toISOString().replace("Z", "000Z") };
    await mutate(this.#store, Leases, key, (lease) => ({ ...lease, spec: { ...lease.spec, ...spec } })).catch(
      async (error: unknown) => {
        if (!isNotFound(error)) return;
        const lease: Lease = {
          apiVersion: "coordination.k8s.io/v1",
          kind: "Lease",
          metadata: key,
          spec,
        };
        await this.#store.create(Leases, lease).catch(forgiveExisting);
      },
    );
  }
}

function forgiveExisting(error: unknown): void {
  if (!isAlreadyExists(error)) throw error;
}
