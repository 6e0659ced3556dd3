import { type Condition, defineResource, type KubeObject } from "@mooring/store";
import { MOORING_GROUP, MOORING_VERSION } from "./names.ts";

export type PoolType = "xfs" | "btrfs" | "directory";

/** Where images live on one node. Cluster scoped; names are `[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?`. */
export interface Pool extends KubeObject {
  spec: {
    type: PoolType;
    nodeID: string;
    /** Absolute folder on that node. */
    path: string;
    /** Bytes of the sparse file that backs the pool when Mooring makes it itself. */
    size?: number;
    /** Promised bytes may exceed the pool's size by this factor; default 10. */
    overcommit?: number;
    /** Bytes kept free; default 5 % of the pool. */
    reserve?: number;
  };
  status?: PoolStatus;
}

export interface PoolStatus {
  /** Open on its node: images can be made. */
  ready: boolean;
  totalBytes?: number;
  freeBytes?: number;
  promisedBytes?: number;
  conditions?: Condition[];
}

export const Pools = defineResource<Pool>(MOORING_GROUP, MOORING_VERSION, "Pool", "pools", false);
