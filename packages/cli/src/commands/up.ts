import { type Standalone, startStandalone } from "@mooring/standalone";
import { defined, RestStore, type StoreOpenError } from "@mooring/store";
import { Command } from "commander";
import { warnOfDisks, warnOfUnrecorded } from "../doctor/disk-checks.ts";
import { type ClientBoundsOptions, clientBounds, withClientBounds } from "../options/client-bounds.ts";
import { withConfigFile } from "../options/config-file.ts";
import { type HostOptions, withHostOptions } from "../options/host-options.ts";
import { listenAddress } from "../options/listen-address.ts";
import { graceFor, type NodeGrace, nodeGraceOption } from "../options/node-grace.ts";
import { nodeName } from "../options/node-settings.ts";
import { switched } from "../options/provision-options.ts";
import { leaseTimes, warnOfSharedPools } from "../options/shared-pool-options.ts";
import { reportError } from "../output/report-error.ts";
import { FolderOwner } from "../process/folder-owner.ts";
import { Foreground, requireRoot } from "../process/foreground.ts";
import { openLogger } from "../process/log.ts";
import { describePoolTrouble, poolTrouble } from "../process/pool-trouble.ts";
import { readyFile } from "../process/ready-file.ts";

interface UpOptions extends HostOptions, NodeGrace, ClientBoundsOptions {
  listen: string;
  driverControllers: boolean;
}

/** What follows "mooring is up" when pools are missing. */
async function withoutPools(
  { kubeconfig }: Standalone,
  { nodeName, sharedPool, rbdPool }: UpOptions,
): Promise<string> {
  const store = await RestStore.fromKubeconfig(kubeconfig);
  try {
    const names = ["default", ...[...sharedPool, ...rbdPool].map(({ name }) => name)];
    return describePoolTrouble(await poolTrouble(store, nodeName, names));
  } finally {
    store.close();
  }
}

async function up(options: UpOptions): Promise<void> {
  requireRoot("up");
  const logger = await openLogger(options.logLevel);
  const { stateDir, pool: type, poolSize: size, poolOvercommit } = options;
  const sharedPools = [...options.sharedPool, ...options.rbdPool];
  const parsed = {
    pool: {
      type,
      ...defined({ size, overcommit: poolOvercommit }),
    },
    leases: leaseTimes(options.leaseDuration),
    trustedNetworks: options.trustedNetwork,
    nodeGraceMs: graceFor(options),
    listen: listenAddress("--listen", options.listen, "127.0.0.1:6443"),
    clients: clientBounds(options),
    nodeName: nodeName(options.nodeName),
    driverControllers: options.driverControllers,
  };
  const ready = await readyFile(options.readyFile);
  const foreground = new Foreground();
  const { signal } = foreground;
  const owner = new FolderOwner(stateDir, parsed.nodeName);
  const onOwned = async () => {
    await owner.check();
    await ready.clear();
  };
  const onRead = (nodes: readonly string[]) => owner.keep(nodes);
  // What runs is left as it is, for the next start, as when this process is killed.
  const onLost = (error: StoreOpenError) => process.exit(reportError(error));
  const hooks = { onOwned, onRead, onLost };
  const running = await startStandalone({ ...parsed, ...hooks, stateDir, sharedPools, logger, signal });
  await foreground.serve(running, async () => {
    await warnOfDisks(stateDir);
    warnOfSharedPools(options.sharedPool);
    process.stdout.write(`mooring is up${await withoutPools(running, options)}\n`);
    process.stdout.write(`  API         ${running.url}\n  kubeconfig  ${running.kubeconfig}\n`);
    process.stdout.write(`\nexport KUBECONFIG=${running.kubeconfig}\n`);
    await ready.write({ pid: process.pid, url: running.url, kubeconfig: running.kubeconfig });
  });
  warnOfUnrecorded(stateDir);
}

/** `mooring up`: everything on one machine, in the foreground, until a signal. */
export function upCommand(): Command {
  const command = new Command("up").description(
    "start standalone: API server, controllers, driver and node agent, in the foreground",
  );
  return withClientBounds(withConfigFile(withHostOptions(command)))
    .addOption(nodeGraceOption())
    .option(
      "--listen <address>",
      "address of the API server; other machines need one that they can reach",
      "127.0.0.1:6443",
    )
    .addOption(
      switched(
        "driver-controllers",
        "run the controllers of CSI drivers that register themselves here; without: they bring their own",
        true,
      ),
    )
    .action(up);
}
