import { startMooringNode } from "@mooring/standalone";
import { Command } from "commander";
import { type ClientOptions, openClient } from "../client/client.ts";
import { type HostOptions, withHostOptions } from "../options/host-options.ts";
import { labels, nodeName, ownPoolName, poolName, taints } from "../options/node-settings.ts";
import { leaseTimes } from "../options/shared-pool-options.ts";
import { requireRoot, stopSignal } from "../process/foreground.ts";
import { openLogger } from "../process/log.ts";
import { describePoolTrouble, poolTrouble } from "../process/pool-trouble.ts";
import { readyFile } from "../process/ready-file.ts";

interface NodeOptions extends ClientOptions, HostOptions {
  poolName?: string;
  labels: string;
  taints: string;
}

async function node(options: NodeOptions): Promise<void> {
  requireRoot("node");
  const name = nodeName(options.nodeName);
  const settings = { labels: labels(options.labels), taints: taints(options.taints) };
  const { pool: type, poolSize, poolOvercommit } = options;
  const own = poolName(options.poolName ?? ownPoolName(name));
  const size = type === "directory" ? {} : { size: poolSize };
  const limits = poolOvercommit === undefined ? {} : { overcommit: poolOvercommit };
  const pools = [{ name: own, type, ...size, ...limits }, ...options.sharedPool];
  const leases = leaseTimes(options.leaseDuration);
  const ready = await readyFile(options.readyFile);
  const store = await openClient(options);
  const logger = openLogger(options.logLevel);
  const { stateDir } = options;
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
      onOwned: ready.clear,
    },
  });
  const trouble = await poolTrouble(
    store,
    name,
    pools.map((pool) => pool.name),
  );
  process.stdout.write(
    `node ${name} is up${describePoolTrouble(trouble)}\n  pool    ${own}\n  socket  ${running.socket}\n`,
  );
  await ready.write({ pid: process.pid, node: name, socket: running.socket });
  await running.done;
}

/** `mooring node`: this machine as one more node of an API server that runs elsewhere. */
export function nodeCommand(): Command {
  const command = new Command("node")
    .description("join this machine to a running API server: agent, driver and pods, in the foreground")
    .option("--kubeconfig <file>", "how to reach the API server");
  return withHostOptions(command)
    .option("--pool-name <name>", "name of the node's own pool (default: default-<node>)")
    .option("--labels <labels>", "labels of the Node: zone=a,disk=fast", "")
    .option("--taints <taints>", "taints that the Node is made with: dedicated=db:NoSchedule", "")
    .action(node);
}
