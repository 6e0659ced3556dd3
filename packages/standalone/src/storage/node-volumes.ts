import type { Observe } from "@mooring/csi";
import { createDriver, type DriverMode } from "@mooring/driver";
import { type AgentPool, type LeaseTimes, startAgent } from "@mooring/engine";
import type { Logger, ObjectStore } from "@mooring/store";
import { defined } from "@mooring/store";
import type { Parts } from "./parts.ts";
import { serveCsi } from "./serve-csi.ts";

/** The volumes of this machine, and where they are served. */
interface NodeVolumes {
  store: ObjectStore;
  nodeName: string;
  /** Absolute. */
  stateDir: string;
  parts: Parts;
  logger: Logger;
  pools: readonly AgentPool[];
  leases: Partial<LeaseTimes>;
  /** IPv4 networks, like `10.0.0.0/24`, over which nodes may share volumes unencrypted. */
  trustedNetworks: readonly string[];
  /** The address by which other machines find this one; default: the first address that it has. */
  address?: string;
  /** Nothing of this machine outlives the process: no pod of a kubelet's that runs on. */
  releaseOnStop: boolean;
}

/** The agent, which makes images, opens devices and makes snapshots here. */
export async function startNodeAgent(node: NodeVolumes): Promise<void> {
  const { store, nodeName: nodeID, stateDir, parts, logger, pools, leases } = node;
  const { trustedNetworks, address, releaseOnStop } = node;
  const known = defined({ address });
  await parts.start("node agent", (signal) =>
    startAgent({
      ...{ store, host: parts.host, nodeID, stateDir, logger, pools, leases, releaseOnStop, signal },
      trustedNetworks,
      ...known,
    }),
  );
}

interface DriverPart extends Pick<NodeVolumes, "store" | "nodeName" | "stateDir" | "parts" | "logger"> {
  mode: DriverMode;
  /** `unix:///path/csi.sock` */
  endpoint: string;
  version?: string;
  maxVolumesPerNode?: number;
  observe?: Observe;
}

/** CSI services on a socket, over the objects of the store. */
export async function startDriver(driver: DriverPart): Promise<void> {
  const { store, nodeName: nodeID, stateDir, parts, logger, mode, endpoint, observe } = driver;
  const { version, maxVolumesPerNode } = driver;
  const options = {
    ...{ store, host: parts.host, nodeID, mode, stateDir, logger },
    ...defined({ version, maxVolumesPerNode }),
  };
  const seen = defined({ observe });
  await parts.start("driver", (signal) =>
    serveCsi(createDriver({ ...options, signal }), { endpoint, logger, ...seen }, signal),
  );
}
