import {
  apiVersionOf,
  type Condition,
  createInformer,
  defined,
  firstOf,
  isAlreadyExists,
  isNotFound,
  mutate,
} from "@mooring/store";
import { TOPOLOGY_NODE_KEY } from "../../api/names.ts";
import { describeSilentPool, type NodeAgent, NodeAgents, POOLS_RESPOND } from "../../api/node-agent.ts";
import { isReported, nodeConditions } from "../../api/node-conditions.ts";
import type { AgentContext } from "../context.ts";
import { condition } from "../pool/conditions.ts";
import { findPlace } from "../share/place.ts";
import { ownAddress } from "../share/trust.ts";
import { NodeInUse } from "./node-claim.ts";

const HEARTBEAT_MS = 10_000;

/** Reports in the NodeAgent object that this node is alive. Throws NodeInUse when another agent does. */
export async function beat(context: AgentContext): Promise<void> {
  const { store, nodeID, host, claim, networks, signal } = context;
  // Where it comes from, for others.
  const address = ownAddress(await findPlace(), networks, context.address);
  const put = (agent: NodeAgent): NodeAgent => {
    claim.check(agent.status);
    const now = host.clock.now();
    const conditions = nodeConditions(
      agent.status,
      { state: "Ready", reason: "AgentResponds", message: "" },
      now,
    );
    const heartbeat = now.toISOString();
    const { address: _before, ...status } = agent.status ?? {};
    return {
      ...agent,
      status: {
        ...status,
        state: "Ready",
        heartbeat,
        holder: claim.holder,
        conditions: [...conditions, ...poolsRespond(context, agent, now)],
        ...defined({ address }),
      },
    };
  };
  const key = { name: nodeID };
  try {
    await mutate(store, NodeAgents, key, { change: put, subresource: "status", signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await register(context);
    await mutate(store, NodeAgents, key, { change: put, subresource: "status", signal });
  }
}

/** A pool that others read as well cannot say of itself which of them do not. */
function poolsRespond({ sharing, silentPools }: AgentContext, agent: NodeAgent, now: Date): Condition[] {
  if (sharing === undefined) return [];
  const silent = [...silentPools].map(([pool, message]) => describeSilentPool(pool, message));
  const state =
    silent.length === 0
      ? ({ status: "True", reason: "AllRead", message: "" } as const)
      : ({ status: "False", reason: "PoolSilent", message: silent.join("; ") } as const);
  return [condition(agent.status, POOLS_RESPOND, state, now)];
}

async function register({ store, nodeID, signal }: AgentContext): Promise<void> {
  const agent: NodeAgent = {
    apiVersion: apiVersionOf(NodeAgents),
    kind: NodeAgents.kind,
    metadata: { name: nodeID },
    spec: { topology: { [TOPOLOGY_NODE_KEY]: nodeID } },
  };
  await store.create(NodeAgents, agent, { signal }).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
}

/**
 * Sends heartbeats until the signal, and one at once when the fencing observer or an operator has written that this node is
 * not ready, or has deleted its object: controllers and other nodes would believe that. Rejects with NodeInUse when another
 * agent has taken the node while we were silent.
 */
export async function keepBeating(context: AgentContext): Promise<void> {
  const { store, nodeID, signal, logger } = context;
  const own = createInformer(store, NodeAgents, { fieldSelector: `metadata.name=${nodeID}`, logger });
  const contradicted = new Contradiction();
  own.onChange((_old, agent) => {
    if (!isReported(agent?.status, "Ready")) contradicted.happens();
  });
  const watching = own.run(signal);
  await beatUntilEnd(context, contradicted);
  await watching;
}

/** Remembers until the next heartbeat that the object of this node contradicts it. */
class Contradiction {
  #wake = new AbortController();

  happens(): void {
    this.#wake.abort();
  }

  /** Aborted when it happens, or has since the last reset. */
  get signal(): AbortSignal {
    return this.#wake.signal;
  }

  reset(): void {
    this.#wake = new AbortController();
  }
}

async function beatUntilEnd(context: AgentContext, contradicted: Contradiction): Promise<void> {
  const { host, signal, logger } = context;
  while (!signal.aborted) {
    await firstOf([signal, contradicted.signal], (wake) => host.clock.sleep(HEARTBEAT_MS, wake)).catch(
      () => {},
    );
    if (signal.aborted) return;
    contradicted.reset();
    await beat(context).catch((error: unknown) => {
      if (error instanceof NodeInUse) throw error;
      // A missed beat is made up by the next one.
      logger.warn({ err: error }, "cannot write the heartbeat");
    });
  }
}

/** The last report of an agent that has closed everything: no other node has to wait for this one any more. */
export async function reportGone({ store, nodeID, host, claim, logger }: AgentContext): Promise<void> {
  const gone = {
    state: "Gone",
    reason: "AgentStopped",
    message: "the agent was stopped and has no device open",
  } as const;
  const put = (agent: NodeAgent): NodeAgent => {
    claim.check(agent.status);
    const { holder: _given, ...status } = agent.status ?? {};
    const conditions = nodeConditions(agent.status, gone, host.clock.now());
    return { ...agent, status: { ...status, state: "Gone", conditions } };
  };
  await mutate(store, NodeAgents, { name: nodeID }, { change: put, subresource: "status" }).catch(
    (error: unknown) => {
      logger.warn({ err: error }, "cannot report that this node is gone");
    },
  );
}
