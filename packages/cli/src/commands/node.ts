import type { AgentPool } from "@mooring/engine";
import { rotateCredential, startClusterNode, startMooringNode } from "@mooring/standalone";
import { defined } from "@mooring/store";
import { Command } from "commander";
import { type JoinOptions, openNodeClient } from "../client/node-client.ts";
import { warnOfDisks, warnOfUnrecorded } from "../doctor/disk-checks.ts";
import { withConfigFile } from "../options/config-file.ts";
import { type HostOptions, withHostOptions } from "../options/host-options.ts";
import { labels, nodeName, ownPoolName, poolName, taints } from "../options/node-settings.ts";
import { leaseTimes, warnOfSharedPools } from "../options/shared-pool-options.ts";
import { CommandError } from "../output/command-error.ts";
import { FolderOwner } from "../process/folder-owner.ts";
import { Foreground, requireRoot } from "../process/foreground.ts";
import { openLogger } from "../process/log.ts";
import { describePoolTrouble, poolTrouble } from "../process/pool-trouble.ts";
import { readyFile } from "../process/ready-file.ts";
import { VERSION } from "../process/version.ts";

interface NodeOptions extends JoinOptions, HostOptions {
  poolName?: string;
  labels: string;
  taints: string;
  kubeletDir?: string;
}

async function node(options: NodeOptions): Promise<void> {
  requireRoot("node");
  const name = nodeName(options.nodeName);
  const settings = { labels: labels(options.labels), taints: taints(options.taints) };
  if (options.kubeletDir !== undefined && (options.labels !== "" || options.taints !== "")) {
    throw new CommandError(
      "the Node object of a kubelet is the kubelet's: --labels and --taints are not for it",
      {
        next: "label and taint it with kubectl, or leave --kubelet-dir away to have Mooring run the pods",
      },
    );
  }
  const pools = poolsOf(options, name);
  const leases = leaseTimes(options.leaseDuration);
  const ready = await readyFile(options.readyFile);
  const { store, joined } = await openNodeClient(options, name, settings.taints);
  const { stateDir, kubeletDir, trustedNetwork: trustedNetworks } = options;
  const foreground = new Foreground();
  const { signal } = foreground;
  const logger = await openLogger(options.logLevel);
  const common = { store, stateDir, pools, leases, trustedNetworks, nodeName: name, logger, signal };
  const onOwned = async () => {
    const owner = new FolderOwner(stateDir, name);
    await owner.check();
    await owner.keep([]);
    await ready.clear();
  };
  const joining = { ...common, onOwned };
  const running =
    kubeletDir === undefined
      ? await startMooringNode({ ...joining, server: store.server, settings })
      : await startClusterNode({ ...joining, kubeletDir, version: VERSION });
  if (joined) void rotateCredential({ store, stateDir, logger, signal });
  const announce = async () => {
    const names = pools.map((pool) => pool.name);
    const trouble = describePoolTrouble(await poolTrouble(store, name, names));
    const [own] = names;
    await warnOfDisks(stateDir);
    warnOfSharedPools(options.sharedPool);
    process.stdout.write(`node ${name} is up${trouble}\n  pool    ${own}\n  socket  ${running.socket}\n`);
    await ready.write({ pid: process.pid, node: name, socket: running.socket });
  };
  await foreground.serve(running, announce).finally(() => store.close());
  warnOfUnrecorded(stateDir);
}

function poolsOf(options: NodeOptions, node: string): AgentPool[] {
  const { pool: type, poolSize, poolOvercommit, poolName: asked, sharedPool, rbdPool } = options;
  const name = poolName(asked ?? ownPoolName(node));
  const size = type === "directory" ? {} : defined({ size: poolSize });
  const limits = defined({ overcommit: poolOvercommit });
  return [{ name, type, ...size, ...limits }, ...sharedPool, ...rbdPool];
}

/** `mooring node`: this machine as one more node of an API server that runs elsewhere. */
export function nodeCommand(): Command {
  const command = new Command("node")
    .description("join this machine to a running API server: agent, driver and pods, in the foreground")
    .option("--join <server>", "API server to join: https://10.0.0.5:6443; once, with a --token")
    .option("--token <token>", "what `mooring token create` has printed there")
    .option("--kubeconfig <file>", "how to reach the API server (default in a pod: its service account)")
    .option(
      "--kubelet-dir <folder>",
      "in a cluster: this machine's kubelet runs the pods, and finds the driver below its --root-dir, /var/lib/kubelet",
    );
  return withConfigFile(withHostOptions(command))
    .option("--pool-name <name>", "name of the node's own pool (default: default-<node>)")
    .option("--labels <labels>", "labels of the Node: zone=a,disk=fast", "")
    .option("--taints <taints>", "taints that the Node is made with: dedicated=db:NoSchedule", "")
    .action(node);
}
