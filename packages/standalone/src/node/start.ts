import { mkdir } from "node:fs/promises";
import { CSI_DRIVER_SPEC } from "@mooring/driver";
import { startSidecars } from "@mooring/sidecars";
import { lockFolder } from "@mooring/store";
import { requestToken } from "../kubelet/volumes/request-token.ts";
import { addressTowards } from "../node-streams/local-address.ts";
import { serveNodeStreams } from "../node-streams/serve.ts";
import { startDriver, startNodeAgent } from "../storage/node-volumes.ts";
import { Parts } from "../storage/parts.ts";
import { failure, untilStopped } from "../storage/until-stopped.ts";
import { startNode } from "../up/node.ts";
import { openStateFolder, type StateFolder } from "../up/state-folder.ts";
import type { MooringNode, MooringNodeOptions } from "./options.ts";

/**
 * One more machine for an API server that runs elsewhere: agent, driver node service, registration and kubelet, all
 * over the network. The controllers, the arbiter and the driver's controller service stay with the API server; they
 * only write objects, and this node's agent acts on them. Resolves when pods can run here. Throws a StoreOpenError when
 * another process has the state folder, and NodeInUse when another agent runs for the node.
 */
export async function startMooringNode(options: MooringNodeOptions): Promise<MooringNode> {
  const { store, settings, nodeName, logger, signal } = options;
  const folder = await openStateFolder(options.stateDir);
  const unlock = await lockState(folder);
  const { failed, fail } = failure();
  const parts = new Parts(logger, fail);
  try {
    await options.onOwned?.();
    const host = await addressTowards(options.server, signal);
    await startVolumes(options, folder, host, parts);
    const issueToken = requestToken(store);
    const kubelet = await startNode({
      ...{ store, nodeName, settings, folder, parts, logger, issueToken },
      // Once in a cluster, where the API server is: not on every node that has the driver.
      driverControllers: ["node-registration"],
    });
    await parts.start("logs", (stop) =>
      serveNodeStreams({ store, nodeName, kubelet, host, logger, signal: stop }),
    );
    const stop = () => parts.stop().finally(unlock);
    return { socket: folder.socket, done: untilStopped(signal, failed).finally(stop) };
  } catch (error) {
    await parts.stop();
    await unlock();
    throw error;
  }
}

/** The lock that `mooring up` and the driver take, too: it is on the folder of a store, which this node has elsewhere. */
async function lockState({ store }: StateFolder): Promise<() => Promise<void>> {
  await mkdir(store, { recursive: true, mode: 0o700 });
  return lockFolder(store);
}

/** This node's volumes behind a CSI socket, and the registrar, which every node has for itself. */
async function startVolumes(
  options: MooringNodeOptions,
  folder: StateFolder,
  address: string,
  parts: Parts,
): Promise<void> {
  const { store, pools, leases, trustedNetworks, nodeName, logger } = options;
  const node = { store, nodeName, stateDir: folder.root, parts, logger };
  await startNodeAgent({ ...node, pools, leases, trustedNetworks, address, releaseOnStop: true });
  const endpoint = `unix://${folder.socket}`;
  await startDriver({ ...node, mode: "node", endpoint });
  await parts.start("registrar", (signal) =>
    startSidecars({
      ...{ store, endpoint, nodeName, logger, signal },
      controllers: ["node-registration"],
      nodeRegistration: { csiDriver: CSI_DRIVER_SPEC },
    }),
  );
}
