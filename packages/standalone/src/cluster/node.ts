import { mkdir } from "node:fs/promises";
import { type Observe, serveRegistration } from "@mooring/csi";
import { type AgentPool, DRIVER_NAME, type LeaseTimes } from "@mooring/engine";
import { reportMissing } from "@mooring/sidecars";
import { defined, type Logger, lockFolder, type ObjectStore } from "@mooring/store";
import { startDriver, startNodeAgent } from "../storage/node-volumes.ts";
import { Parts } from "../storage/parts.ts";
import { failure, stopped, untilStopped } from "../storage/until-stopped.ts";
import { openStateFolder } from "../up/state-folder.ts";
import { type KubeletFolder, kubeletFolder } from "./kubelet-folder.ts";
import { NODE_NEEDS } from "./rights.ts";

/** What `mooring node --kubelet-dir` starts with. */
export interface ClusterNodeOptions {
  /** The cluster's API server, with our kinds installed. */
  store: ObjectStore;
  /** Absolute, or relative to the working directory; made with mode 0700 when it is not there. */
  stateDir: string;
  /** The kubelet's own folder (`--root-dir`), usually `/var/lib/kubelet`. */
  kubeletDir: string;
  pools: readonly AgentPool[];
  leases: Partial<LeaseTimes>;
  /** IPv4 networks, like `10.0.0.0/24`, over which nodes may share volumes unencrypted. */
  trustedNetworks: readonly string[];
  /** Name of the Node object. */
  nodeName: string;
  /** Where other nodes reach this one; default: the first address that it has. */
  address?: string;
  maxVolumesPerNode?: number;
  version?: string;
  observe?: Observe;
  logger: Logger;
  /** Ends everything cleanly. */
  signal: AbortSignal;
  /** Called once the state folder is this process's alone, before anything starts. */
  onOwned?(): Promise<void>;
}

/** The parts of a node that serve a cluster. */
export interface ClusterNode {
  /** Absolute path of the driver's socket. */
  socket: string;
  /** Settles when everything has been released; rejects when a part failed beyond repair. */
  done: Promise<void>;
}

/**
 * This machine's volumes for the kubelet that runs on it: agent, the driver's node service, and the socket by which the
 * kubelet finds it. Pods are the kubelet's: they run on when this process ends, so devices and mounts in use stay as they
 * are, and the next one takes them up. Resolves when the kubelet can register the driver. Throws a StoreOpenError when
 * another process has the state folder, NodeInUse when another agent runs for the node, and FAILED_PRECONDITION without a kubelet.
 */
export async function startClusterNode(options: ClusterNodeOptions): Promise<ClusterNode> {
  const { stateDir, logger, signal } = options;
  const kubelet = await kubeletFolder(options.kubeletDir, DRIVER_NAME);
  const folder = await openStateFolder(stateDir);
  await mkdir(folder.store, { recursive: true, mode: 0o700 });
  const unlock = await lockFolder(folder.store);
  const { failed, fail } = failure();
  const parts = new Parts(logger, fail, signal);
  const stop = () => parts.stop().finally(unlock);
  try {
    await options.onOwned?.();
    const { store } = options;
    // Before anything needs them: what is missing is reported by its name, also where a start would wait for ever.
    await reportMissing(store, NODE_NEEDS, { namespace: "", logger, signal });
    await startParts(options, { folder: folder.root, kubelet, parts });
  } catch (error) {
    await stop();
    throw error;
  }
  return { socket: kubelet.driverSocket, done: untilStopped(signal, failed).finally(stop) };
}

interface Places {
  folder: string;
  kubelet: KubeletFolder;
  parts: Parts;
}

async function startParts(
  options: ClusterNodeOptions,
  { folder: stateDir, kubelet, parts }: Places,
): Promise<void> {
  const { store, nodeName, logger, pools, leases, trustedNetworks, address } = options;
  const { version, maxVolumesPerNode, observe } = options;
  const node = { store, nodeName, stateDir, parts, logger };
  await startNodeAgent({
    ...{ ...node, pools, leases, trustedNetworks, releaseOnStop: false },
    ...defined({ address }),
  });
  await startDriver({
    ...{ ...node, mode: "node", endpoint: `unix://${kubelet.driverSocket}` },
    ...defined({ version, maxVolumesPerNode, observe }),
  });
  // Last, and first to go: who finds it calls the driver at once.
  await parts.start("registration", (signal) => register(kubelet, logger, signal));
}

async function register(
  { registrationSocket, driverSocket }: KubeletFolder,
  logger: Logger,
  signal: AbortSignal,
): Promise<{ done: Promise<void> }> {
  const endpoint = `unix://${registrationSocket}`;
  const server = serveRegistration({ endpoint, driver: DRIVER_NAME, driverSocket, logger });
  await server.start();
  logger.info({ socket: registrationSocket }, "the kubelet can register the driver");
  return { done: stopped(signal).then(() => server.stop()) };
}
