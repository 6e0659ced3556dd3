import { apiVersionOf, isAlreadyExists, isNotFound, mutate } from "@mooring/store";
import { TOPOLOGY_NODE_KEY } from "../../api/names.ts";
import { type NodeAgent, NodeAgents } from "../../api/node-agent.ts";
import type { AgentContext } from "../context.ts";

const EVERY_MS = 10_000;

/** Says in the NodeAgent object that this node is alive, once now and then until the signal. */
export async function beat(context: AgentContext): Promise<void> {
  const { store, nodeID, host, signal } = context;
  const put = (agent: NodeAgent): NodeAgent => ({
    ...agent,
    status: { ...agent.status, state: "Ready", heartbeat: host.clock.now().toISOString() },
  });
  const key = { name: nodeID };
  try {
    await mutate(store, NodeAgents, key, put, { subresource: "status", signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await register(context);
    await mutate(store, NodeAgents, key, put, { subresource: "status", signal });
  }
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

export async function keepBeating(context: AgentContext): Promise<void> {
  const { host, signal, logger } = context;
  while (!signal.aborted) {
    await host.clock.sleep(EVERY_MS, signal).catch(() => {});
    if (signal.aborted) return;
    // A missed beat is made up by the next one.
    await beat(context).catch((error: unknown) => logger.warn({ err: error }, "cannot write the heartbeat"));
  }
}
