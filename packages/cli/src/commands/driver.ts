import { hostname } from "node:os";
import { resolve } from "node:path";
import { type DriverMode, type ServeOptions, serveDriver } from "@mooring/driver";
import { type AgentPool, type PoolType, Volumes } from "@mooring/engine";
import { defined, isNotFound, type RestStore } from "@mooring/store";
import { Command, InvalidArgumentError, Option } from "commander";
import type { Logger } from "pino";
import { openClient } from "../client/client.ts";
import { isNodeName, ownPoolName } from "../options/node-settings.ts";
import { overcommitOption, poolSizeOption } from "../options/own-pool.ts";
import { rbdPoolOption } from "../options/rbd-pool-option.ts";
import { CommandError } from "../output/command-error.ts";
import { type DriverMetrics, startMetrics } from "../process/driver-metrics.ts";
import { stopSignal } from "../process/foreground.ts";
import { openLogger } from "../process/log.ts";
import { VERSION } from "../process/version.ts";

interface DriverOptions {
  mode: DriverMode;
  endpoint?: string;
  kubeconfig?: string;
  stateDir: string;
  nodeId: string;
  pool: PoolType;
  poolSize?: number;
  poolOvercommit?: number;
  rbdPool: AgentPool[];
  maxVolumes: number;
  groupVolumes: "delete" | "keep";
  metricsListen?: string;
  logLevel: string;
}

/** Node ids are values of topology segments, which have at most 63 characters and begin and end alphanumeric. */
function nodeId(text: string): string {
  if (/^[a-zA-Z0-9]([-._a-zA-Z0-9]{0,61}[a-zA-Z0-9])?$/.test(text)) return text;
  throw new InvalidArgumentError("use up to 63 letters, digits, '-', '_' or '.', alphanumeric at both ends");
}

function count(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new InvalidArgumentError("a whole number above 0");
}

/** The specification wants `unix://` and a path that ends in `.sock` (section "CSI_ENDPOINT"). */
function endpointOf(options: DriverOptions): string {
  const endpoint = options.endpoint ?? "";
  if (endpoint === "") {
    throw new CommandError("CSI_ENDPOINT is not set", {
      next: "set it to a socket, for example CSI_ENDPOINT=unix:///run/csi/csi.sock, or use --endpoint",
    });
  }
  if (!/^unix:\/\/\/.+\.sock$/.test(endpoint)) {
    throw new CommandError(`CSI_ENDPOINT ${endpoint} is not a unix socket path that ends in .sock`, {
      next: "write it like unix:///run/csi/csi.sock",
    });
  }
  return endpoint;
}

/** The objects of a running Mooring API server, which other processes see as well. */
async function sharedStore(options: DriverOptions): Promise<RestStore | undefined> {
  const { kubeconfig, nodeId: name } = options;
  if (kubeconfig === undefined) return undefined;
  if (!isNodeName(name)) {
    throw new CommandError(`--node-id ${name} cannot be the name of an object`, {
      next: "with --kubeconfig use up to 63 lower case letters, digits, '-' and '.', alphanumeric at both ends",
    });
  }
  const store = await openClient({ kubeconfig });
  await requireStandalone(store, kubeconfig);
  await store.list(Volumes, { limit: 1 }).catch((cause: unknown) => {
    if (!isNotFound(cause)) throw cause;
    throw new CommandError(`the API server of ${kubeconfig} does not have Mooring's kinds`, {
      next: "use the kubeconfig of a running `mooring up`",
      cause,
    });
  });
  return store;
}

/** Elsewhere no arbiter would evaluate the tickets that this process writes, and every attachment would wait for ever. */
async function requireStandalone(store: RestStore, kubeconfig: string): Promise<void> {
  const { gitVersion } = JSON.parse(await store.getText("/version")) as { gitVersion?: string };
  if (gitVersion?.endsWith("+mooring") === true) return;
  throw new CommandError(
    `${kubeconfig} is of a Kubernetes cluster (${gitVersion}), where no arbiter attaches what this process asks for`,
    {
      next: "run `mooring controller --engine` there, and `mooring node --kubelet-dir FOLDER` on each machine; or use the kubeconfig of a running `mooring up`",
    },
  );
}

function poolOf(options: DriverOptions): ServeOptions["pool"] {
  const { pool: type, poolSize: size, poolOvercommit: overcommit } = options;
  return {
    type,
    ...(options.kubeconfig === undefined ? {} : { name: ownPoolName(options.nodeId) }),
    ...(type === "directory" ? {} : defined({ size })),
    ...defined({ overcommit }),
  };
}

/** Controllers on an API server's objects touch nothing of their machine. */
const needsRoot = ({ mode, kubeconfig, pool }: DriverOptions): boolean =>
  pool !== "directory" && (mode !== "controller" || kubeconfig === undefined);

async function driver(options: DriverOptions): Promise<void> {
  const endpoint = endpointOf(options);
  if (needsRoot(options) && process.getuid?.() !== 0) {
    throw new CommandError(`a pool of type ${options.pool} needs root for loop devices and mounts`, {
      next: "run it as root, or try it with --pool directory",
    });
  }
  const logger = await openLogger(options.logLevel);
  const signal = stopSignal((name) => logger.info({ signal: name }, "stopping; once more to stop at once"));
  const { metricsListen } = options;
  const metrics = metricsListen === undefined ? undefined : await startMetrics(metricsListen, logger);
  try {
    await serve(options, endpoint, { logger, signal, metrics });
  } finally {
    await metrics?.close();
  }
}

interface Surroundings {
  logger: Logger;
  signal: AbortSignal;
  metrics: DriverMetrics | undefined;
}

/** Settles when the driver has stopped. */
async function serve(options: DriverOptions, endpoint: string, around: Surroundings): Promise<void> {
  const { logger, signal, metrics } = around;
  const store = await sharedStore(options);
  const serving = await serveDriver({
    ...{ endpoint, mode: options.mode, nodeID: options.nodeId, maxVolumesPerNode: options.maxVolumes },
    stateDir: resolve(options.stateDir),
    pool: poolOf(options),
    rbdPools: options.rbdPool,
    keepGroupVolumes: options.groupVolumes === "keep",
    ...defined({ store }),
    version: VERSION,
    logger,
    signal,
    ...defined({ observe: metrics?.observe }),
  }).catch((error: unknown) => {
    throw startFailure(error);
  });
  logger.info({ endpoint, mode: options.mode, node: options.nodeId, pid: process.pid }, "serving CSI");
  await serving.done.finally(() => store?.close());
}

function startFailure(error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code !== undefined && UNUSABLE.has(code)) {
    return new CommandError(`the state folder cannot be used: ${message}`, {
      next: "choose another --state-dir",
      cause: error,
    });
  }
  return error;
}

/** The file system's error for a folder that is none, or not ours to write. */
const UNUSABLE = new Set(["ENOTDIR", "EACCES", "EROFS", "ENOSPC", "EPERM", "EEXIST"]);

const choice = (flags: string, text: string, values: string[], fallback: string) =>
  new Option(flags, text).choices(values).default(fallback);

/** Which services are served where, and whose objects they are about. */
function withServiceOptions(command: Command): Command {
  return command
    .addOption(
      choice("--mode <mode>", "services to serve", ["controller", "node", "all"], "all").env("MOORING_MODE"),
    )
    .addOption(
      new Option("--endpoint <socket>", "where to listen: unix:///path/csi.sock").env("CSI_ENDPOINT"),
    )
    .addOption(
      new Option(
        "--kubeconfig <file>",
        "a running `mooring up`, whose objects controller and node processes share (default: objects of its own)",
      ).env("MOORING_KUBECONFIG"),
    )
    .addOption(
      new Option("--state-dir <folder>", "where everything is kept")
        .env("MOORING_STATE_DIR")
        .default("/var/lib/mooring"),
    )
    .addOption(
      new Option("--node-id <name>", "CSI node id of this machine")
        .env("MOORING_NODE_ID")
        .default(hostname().toLowerCase())
        .argParser(nodeId),
    );
}

/** What volumes are made of, and how many there may be. */
function withVolumeOptions(command: Command): Command {
  return command
    .addOption(
      choice("--pool <type>", "kind of the pool", ["xfs", "btrfs", "directory"], "xfs").env("MOORING_POOL"),
    )
    .addOption(poolSizeOption().env("MOORING_POOL_SIZE"))
    .addOption(overcommitOption().env("MOORING_POOL_OVERCOMMIT"))
    .addOption(rbdPoolOption().env("MOORING_RBD_POOL"))
    .addOption(
      new Option("--max-volumes <number>", "volumes that may be attached to this node at once")
        .env("MOORING_MAX_VOLUMES")
        .default(1000)
        .argParser(count),
    )
    .addOption(
      choice(
        "--group-volumes <what>",
        "what deleting a volume group does with its volumes: with keep, only an empty group is deleted",
        ["delete", "keep"],
        "delete",
      ).env("MOORING_GROUP_VOLUMES"),
    );
}

const HELP = `
Without --kubeconfig, --mode controller or node is a plugin by itself, for a test suite of that service: a
controller and a node process do not see each other's volumes, and cannot have one state folder.

Exit codes: 0 stopped by a signal · 2 wrong arguments or something is missing · 3 state folder, socket, address
or node in use · 4 the API server cannot be reached · 70 unforeseen · 130 stopped at once by a second signal`;

/** `mooring driver`: the CSI driver alone, for Nomad, a test suite or a script. Needs no Kubernetes. */
export function driverCommand(): Command {
  const command = new Command("driver").description(
    "serve CSI on a unix socket, with volumes of this machine; in the foreground",
  );
  return withVolumeOptions(withServiceOptions(command))
    .addOption(
      new Option(
        "--metrics-listen <address>",
        "serve /metrics for Prometheus there: 127.0.0.1:9810; off unless given",
      ).env("MOORING_METRICS_LISTEN"),
    )
    .addOption(
      choice(
        "--log-level <level>",
        "least level that is logged",
        ["debug", "info", "warn", "error"],
        "info",
      ).env("MOORING_LOG_LEVEL"),
    )
    .action(driver)
    .addHelpText("after", HELP);
}
