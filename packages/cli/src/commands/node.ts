import { writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import type { AgentPool } from "@mooring/engine";
import { startMooringNode } from "@mooring/standalone";
import { Command } from "commander";
import { type ClientOptions, openClient } from "./client.ts";
import {
  logLevelOption,
  openLogger,
  overcommitOption,
  parseSize,
  poolOption,
  requireRoot,
  stopSignal,
} from "./foreground.ts";
import { labels, nodeName, ownPoolName, poolName, taints } from "./node-settings.ts";
import { leaseDurationOption, leaseTimes, sharedPoolOption } from "./shared-options.ts";

interface NodeOptions extends ClientOptions {
  stateDir: string;
  nodeName: string;
  pool: "xfs" | "btrfs" | "directory";
  poolName?: string;
  poolSize: string;
  poolOvercommit?: number;
  sharedPool: AgentPool[];
  leaseDuration: number;
  labels: string;
  taints: string;
  readyFile?: string;
  logLevel: string;
}

async function node(options: NodeOptions): Promise<void> {
  requireRoot("node");
  const name = nodeName(options.nodeName);
  const settings = { labels: labels(options.labels), taints: taints(options.taints) };
  const { pool: type, poolSize, poolOvercommit } = options;
  const own = poolName(options.poolName ?? ownPoolName(name));
  const size = type === "directory" ? {} : { size: parseSize(poolSize) };
  const limits = poolOvercommit === undefined ? {} : { overcommit: poolOvercommit };
  const pools = [{ name: own, type, ...size, ...limits }, ...options.sharedPool];
  const leases = leaseTimes(options.leaseDuration);
  const store = await openClient(options);
  const logger = openLogger(options.logLevel);
  const { stateDir, readyFile } = options;
  const running = await startMooringNode({
    ...{
      store,
      server: store.server,
      stateDir,
      pools,
      leases,
      nodeName: name,
      settings,
      logger,
      signal: stopSignal(),
    },
  });
  process.stdout.write(`node ${name} is up\n  pool    ${own}\n  socket  ${running.socket}\n`);
  if (readyFile !== undefined) {
    const ready = { pid: process.pid, node: name, socket: running.socket };
    await writeFile(readyFile, `${JSON.stringify(ready)}\n`);
  }
  await running.done;
}

/** `mooring node`: this machine as one more node of an API server that runs elsewhere. */
export function nodeCommand(): Command {
  return new Command("node")
    .description("join this machine to a running API server: agent, driver and pods, in the foreground")
    .option("--kubeconfig <file>", "how to reach the API server")
    .option("--state-dir <folder>", "where everything is kept", "/var/lib/mooring")
    .option("--node-name <name>", "name of this node", hostname().toLowerCase())
    .addOption(poolOption())
    .option("--pool-size <size>", "size of the pool file, when it is made", "20Gi")
    .addOption(overcommitOption())
    .option("--pool-name <name>", "name of the node's own pool (default: default-<node>)")
    .addOption(sharedPoolOption())
    .addOption(leaseDurationOption())
    .option("--labels <labels>", "labels of the Node: zone=a,disk=fast", "")
    .option("--taints <taints>", "taints that the Node is made with: dedicated=db:NoSchedule", "")
    .option("--ready-file <file>", "written when everything is ready")
    .addOption(logLevelOption())
    .action(node);
}
