import { CSI_DRIVER_SPEC, createDriver } from "@mooring/driver";
import {
  type AgentPool,
  createHost,
  DRIVER_NAME,
  startAgent,
  startArbiter,
  startFencing,
  startServices,
} from "@mooring/engine";
import { startSidecars } from "@mooring/sidecars";
import { managedBy } from "@mooring/store";
import { serveCsi } from "./serve-csi.ts";
import type { Starting } from "./start.ts";

/** The name of the pool that the default class provisions from. */
const DEFAULT_POOL = "default";

function ownPool({ type, size, overcommit }: Starting["options"]["pool"]): AgentPool {
  return {
    ...{ name: DEFAULT_POOL, type },
    ...(type === "directory" ? {} : { size }),
    ...(overcommit === undefined ? {} : { overcommit }),
  };
}

/** Mooring's own volumes behind a CSI socket, and the sidecars in front of it, which know the socket only. */
export async function startStorage(starting: Starting): Promise<void> {
  const { options, folder, store, parts, logger, calls } = starting;
  const { nodeName: nodeID, pool, leases } = options;
  const host = createHost();
  const endpoint = `unix://${folder.socket}`;
  await parts.start("node agent", (signal) =>
    startAgent({
      store,
      host,
      nodeID,
      stateDir: folder.root,
      logger,
      pools: [ownPool(pool), ...options.sharedPools],
      // Where other machines are told to find this one; with all addresses, or the loopback, nobody said.
      address: options.listen.host,
      leases,
      releaseOnStop: true,
      signal,
    }),
  );
  await parts.start("fencing", (signal) =>
    startFencing({ store, clock: host.clock, leases, graceMs: options.nodeGraceMs, logger, signal }),
  );
  await parts.start("arbiter", (signal) => startArbiter({ store, logger, kubernetes: true, signal }));
  await parts.start("data services", (signal) => startServices({ store, logger, signal }));
  const driver = { store, host, nodeID, mode: "all", stateDir: folder.root, logger } as const;
  await parts.start("driver", (signal) =>
    serveCsi(createDriver({ ...driver, signal }), { endpoint, logger, observe: calls.observe }, signal),
  );
  await parts.start("sidecars", (signal) =>
    startSidecars({
      // "External": the attacher, provisioner and so on of this driver, told from the cluster's own controllers.
      store: managedBy(store, `external-${DRIVER_NAME}`),
      endpoint,
      nodeName: nodeID,
      nodeRegistration: { csiDriver: CSI_DRIVER_SPEC },
      logger,
      signal,
    }),
  );
}
