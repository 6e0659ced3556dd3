import type { Collection, ObjectStore, Reader } from "@mooring/store";
import { type NodeAgent, withoutHeartbeat } from "../api/node-agent.ts";
import { type Pool, withoutUsage } from "../api/pool.ts";
import type { AgentContext, Sharing } from "./context.ts";
import type { OpenPools } from "./open-pools.ts";

/** What the agent's controllers read from; an {@link AgentContext} is one that notes nothing. */
export interface ReadContext extends Omit<AgentContext, "store" | "pools" | "poolObjects" | "sharing"> {
  store: Pick<ObjectStore, "get" | "list">;
  pools: Pick<OpenPools, "get">;
  poolObjects: Pick<Collection<Pool>, "get">;
  sharing: (Omit<Sharing, "agents"> & { agents: Collection<NodeAgent> }) | undefined;
}

/** The topic that changes when a pool is opened here. */
export function openPoolTopic(pool: string): string {
  return `open pool ${pool}`;
}

/** The context as a read is to see it: everything that may change is noted. */
export function readContext(context: AgentContext, reader: Reader): ReadContext {
  const { pools, poolObjects, sharing } = context;
  return {
    ...context,
    store: reader.store,
    pools: {
      get: (name) => {
        reader.topic(openPoolTopic(name));
        return pools.get(name);
      },
    },
    poolObjects: reader.over(poolObjects, withoutUsage),
    sharing:
      sharing === undefined
        ? undefined
        : { ...sharing, agents: reader.over(sharing.agents, withoutHeartbeat) },
  };
}
