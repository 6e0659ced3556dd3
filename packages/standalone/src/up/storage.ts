import { CSI_DRIVER_SPEC } from "@mooring/driver";
import { type AgentPool, DRIVER_NAME } from "@mooring/engine";
import { startSidecars } from "@mooring/sidecars";
import { defined, managedBy } from "@mooring/store";
import { startEngine } from "../storage/engine.ts";
import { startDriver, startNodeAgent } from "../storage/node-volumes.ts";
import { DEFAULT_POOL } from "./default-pool.ts";
import type { Starting } from "./starting.ts";

function ownPool({ type, size, overcommit }: Starting["options"]["pool"]): AgentPool {
  return {
    ...{ name: DEFAULT_POOL, type },
    ...(type === "directory" ? {} : defined({ size })),
    ...defined({ overcommit }),
  };
}

/** Mooring's own volumes behind a CSI socket, and the sidecars in front of it, which know the socket only. */
export async function startStorage(starting: Starting): Promise<void> {
  const { options, folder, store, parts, logger, calls } = starting;
  const { nodeName, pool, leases, nodeGraceMs } = options;
  const endpoint = `unix://${folder.socket}`;
  const node = { store, nodeName, stateDir: folder.root, parts, logger };
  await startNodeAgent({
    ...node,
    pools: [ownPool(pool), ...options.sharedPools],
    // With all addresses, or the loopback, it is not given where this machine is.
    address: options.listen.host,
    leases,
    trustedNetworks: options.trustedNetworks,
    releaseOnStop: true,
  });
  await startEngine({ store, parts, logger, leases, nodeGraceMs });
  await startDriver({ ...node, mode: "all", endpoint, observe: calls.observe });
  await parts.start("sidecars", (signal) =>
    startSidecars({
      // "External": the attacher, provisioner and so on of this driver, apart from the cluster's own controllers.
      store: managedBy(store, `external-${DRIVER_NAME}`),
      endpoint,
      nodeName,
      nodeRegistration: { csiDriver: CSI_DRIVER_SPEC },
      logger,
      signal,
    }),
  );
}
