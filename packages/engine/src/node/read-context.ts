import type { Collection, ObjectStore, Reader } from "@mooring/store";
import { type NodeAgent, withoutHeartbeat } from "../api/node-agent.ts";
import { type Pool, withoutUsage } from "../api/pool.ts";
import type { ImageLeases } from "../leases/image-leases.ts";
import type { AgentContext, Sharing } from "./context.ts";
import type { OpenPools } from "./open-pools.ts";

/** What the agent's controllers read from; an {@link AgentContext} is one that notes nothing. */
export interface ReadContext extends Omit<AgentContext, "store" | "pools" | "poolObjects" | "sharing"> {
  store: Pick<ObjectStore, "get" | "list">;
  pools: Pick<OpenPools, "get">;
  poolObjects: Pick<Collection<Pool>, "get">;
  sharing: ReadSharing | undefined;
}

/** What is read of what a node has in common with others. */
export type ReadSharing = Pick<Sharing, "pools"> & {
  leases: Pick<ImageLeases, "holds" | "takenFrom" | "protects" | "standing">;
  agents: Collection<NodeAgent>;
};

/** The topic that changes when a pool is opened here. */
export function openPoolTopic(pool: string): string {
  return `open pool ${pool}`;
}

/** The topic that changes when this node gets an image's lease, loses it, or guards another device of it. */
export function leaseTopic(image: string): string {
  return `lease ${image}`;
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
    sharing: sharing === undefined ? undefined : readSharing(sharing, reader),
  };
}

function readSharing({ pools, leases, agents }: Sharing, reader: Reader): ReadSharing {
  const of = (image: string): ImageLeases => {
    reader.topic(leaseTopic(image));
    return leases;
  };
  return {
    pools,
    leases: {
      holds: (image) => of(image).holds(image),
      takenFrom: (image) => of(image).takenFrom(image),
      protects: (image, device) => of(image).protects(image, device),
      standing: (image, signal) => of(image).standing(image, signal),
    },
    agents: reader.over(agents, withoutHeartbeat),
  };
}
