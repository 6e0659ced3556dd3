import { createDriver } from "@mooring/driver";
import { createHost, startAgent } from "@mooring/engine";
import { startSidecars } from "@mooring/sidecars";
import { requestToken } from "../kubelet/volumes/request-token.ts";
import { addressTowards } from "../node-logs/local-address.ts";
import { serveNodeLogs } from "../node-logs/serve.ts";
import { startNode } from "../up/node.ts";
import { Parts } from "../up/parts.ts";
import { serveCsi } from "../up/serve-csi.ts";
import { openStateFolder, type StateFolder } from "../up/state-folder.ts";
import { failure, untilStopped } from "../up/until-stopped.ts";
import type { MooringNode, MooringNodeOptions } from "./options.ts";

/**
 * One more machine for an API server that runs elsewhere: agent, driver node service, registration and kubelet, all
 * over the network. The controllers, the arbiter and the driver's controller service stay with the API server; they
 * only write objects, and this node's agent acts on them. Resolves when pods can run here.
 */
export async function startMooringNode(options: MooringNodeOptions): Promise<MooringNode> {
  const { store, settings, nodeName, logger, signal } = options;
  const folder = await openStateFolder(options.stateDir);
  const { failed, fail } = failure();
  const parts = new Parts(logger, fail);
  try {
    await startVolumes(options, folder, parts);
    const issueToken = requestToken(store);
    const kubelet = await startNode({ store, nodeName, settings, folder, parts, logger, issueToken });
    const host = await addressTowards(options.server, signal);
    await parts.start("logs", (stop) =>
      serveNodeLogs({ store, nodeName, kubelet, host, logger, signal: stop }),
    );
    return { socket: folder.socket, done: untilStopped(signal, failed).finally(() => parts.stop()) };
  } catch (error) {
    await parts.stop();
    throw error;
  }
}

/** This node's volumes behind a CSI socket, and the registrar, which every node has for itself. */
async function startVolumes(options: MooringNodeOptions, folder: StateFolder, parts: Parts): Promise<void> {
  const { store, pools, leases, nodeName, logger } = options;
  const host = createHost();
  const { root: stateDir } = folder;
  const node = { store, host, nodeID: nodeName, stateDir, logger };
  await parts.start("node agent", (signal) =>
    startAgent({ ...node, pools, leases, releaseOnStop: true, signal }),
  );
  const endpoint = `unix://${folder.socket}`;
  await parts.start("driver", (signal) =>
    serveCsi(createDriver({ ...node, mode: "node", signal }), { endpoint, logger }, signal),
  );
  await parts.start("registrar", (signal) =>
    startSidecars({ store, endpoint, controllers: ["node-registration"], nodeName, logger, signal }),
  );
}
