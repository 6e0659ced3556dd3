import { CsiError, callMetrics, codeName, socketPath } from "@mooring/csi";
import { CSI_DRIVER_SPEC } from "@mooring/driver";
import { DRIVER_NAME } from "@mooring/engine";
import {
  CONTROLLERS,
  type ControlledDriver,
  type ControllerName,
  type ControllerOptions,
  capacityMetrics,
  type SidecarOptions,
  snapshotMetrics,
  volumeMetrics,
} from "@mooring/sidecars";
import { defined, keepGarbageSmall, type RestStore } from "@mooring/store";
import { Command, InvalidArgumentError, Option } from "commander";
import type { Logger } from "pino";
import { type ClientOptions, openCluster } from "../client/client.ts";
import {
  ANY_DRIVER,
  csiDriverOption,
  type DeclaredCsiDrivers,
  declaredFor,
} from "../options/csi-driver-option.ts";
import { duration } from "../options/duration.ts";
import { logLevelOption } from "../options/log-level.ts";
import {
  type NodeDeploymentFlags,
  nodeDeploymentSettings,
  withNodeDeploymentFlags,
} from "../options/node-deployment-options.ts";
import { type NodeGrace, nodeGraceOption } from "../options/node-grace.ts";
import {
  type ProvisionFlags,
  provisionSettings,
  switched,
  withProvisionFlags,
} from "../options/provision-options.ts";
import { leaseDurationOption } from "../options/shared-pool-options.ts";
import { refuseSidecarFlags } from "../options/sidecar-flags.ts";
import {
  type SnapshotMetadataFlags,
  snapshotMetadataSettings,
  withSnapshotMetadataFlags,
} from "../options/snapshot-metadata-options.ts";
import { CommandError } from "../output/command-error.ts";
import { type ControlledDrivers, controlDrivers, readyMetric } from "../process/controlled-drivers.ts";
import { stopSignal } from "../process/foreground.ts";
import { startLivenessServer } from "../process/liveness-server.ts";
import { openLogger } from "../process/log.ts";
import { type MetricsEndpoint, startMetricsServer } from "../process/metrics-server.ts";
import { controlOwnVolumes } from "../process/own-volumes.ts";
import { readyFile } from "../process/ready-file.ts";
import { startSnapshotMetadataServer } from "../process/snapshot-metadata-server.ts";

const NAMES = Object.keys(CONTROLLERS) as ControllerName[];

interface Options
  extends ClientOptions,
    NodeGrace,
    NodeDeploymentFlags,
    ProvisionFlags,
    SnapshotMetadataFlags {
  csiAddress?: string[];
  engine?: true;
  controllers?: ControllerName[];
  csiDriver?: DeclaredCsiDrivers;
  nodeName?: string;
  namespace: string;
  leaderElection: boolean;
  leaderElectionNamespace?: string;
  leaderElectionLabels?: Record<string, string>;
  /** Milliseconds. */
  timeout: number;
  workerThreads: number;
  extraCreateMetadata: boolean;
  extraModifyMetadata: boolean;
  volumeNamePrefix: string;
  snapshotNamePrefix: string;
  groupsnapshotNamePrefix: string;
  metricsListen?: string;
  livenessListen?: string;
  readyFile?: string;
  logLevel: string;
}

function csiAddress(text: string, before: readonly string[] = []): string[] {
  const address = socketAddress(text);
  if (before.includes(address)) throw new InvalidArgumentError("it is given twice");
  return [...before, address];
}

function socketAddress(text: string): string {
  try {
    return `unix://${socketPath(text)}`;
  } catch (error) {
    throw error instanceof CsiError ? new InvalidArgumentError(error.message) : error;
  }
}

function controllerNames(text: string): ControllerName[] {
  const asked = text.split(",").map((name) => name.trim());
  const unknown = asked.filter((name) => !NAMES.includes(name as ControllerName));
  if (unknown.length > 0) {
    throw new InvalidArgumentError(`there is no ${unknown.join(", ")}; there are ${NAMES.join(", ")}`);
  }
  return asked as ControllerName[];
}

function leaseLabels(text: string): Record<string, string> {
  const pairs = text.split(",").map((pair) => pair.split(":").map((part) => part.trim()));
  if (pairs.every((pair) => pair.length === 2 && pair[0] !== "")) return Object.fromEntries(pairs);
  throw new InvalidArgumentError("write key:value, with commas between");
}

function threads(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= 1000) return value;
  throw new InvalidArgumentError("a whole number from 1 to 1000");
}

/** What becomes part of names on a storage system: short, and of characters that every system takes. */
function prefix(text: string): string {
  if (/^[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?$/.test(text)) return text;
  throw new InvalidArgumentError(
    "use up to 32 lower case letters, digits and '-', alphanumeric at both ends",
  );
}

function settingsOf(options: Options): ControllerOptions {
  const { extraCreateMetadata, extraModifyMetadata } = options;
  const { defaultFstype: defaultFsType, nodeName, csiDriver: declared } = options;
  const csiDriver = declared && declaredFor(declared);
  return {
    provision: {
      ...provisionSettings(options),
      ...{ volumeNamePrefix: options.volumeNamePrefix, extraCreateMetadata },
    },
    attach: { defaultFsType },
    modify: { extraModifyMetadata },
    nodeRegistration: {
      csiDriver: (name) => ({ ...(name === DRIVER_NAME ? CSI_DRIVER_SPEC : {}), ...csiDriver?.(name) }),
    },
    snapshot: { namePrefix: options.snapshotNamePrefix, extraCreateMetadata },
    groupSnapshot: { namePrefix: options.groupsnapshotNamePrefix, extraCreateMetadata },
    ...nodeDeploymentSettings(options, options),
    ...defined({ nodeName, csiDriver }),
  };
}

function leaderElectionOf(options: Options): Pick<SidecarOptions, "leaderElection"> {
  const { leaderElectionNamespace: namespace, leaderElectionLabels: labels } = options;
  if (!options.leaderElection) return {};
  return { leaderElection: defined({ namespace, labels }) };
}

type OnCall = NonNullable<SidecarOptions["onCall"]>;

/** Counts the calls to the driver, whose name is known with the first of them. */
function countCalls(): { onCall: OnCall; families: () => ReturnType<Calls["families"]> } {
  const drivers = new Map<string, Calls>();
  return {
    onCall: ({ driver, method, code, seconds }) => {
      const calls = drivers.get(driver) ?? callMetrics({ driverName: driver, side: "sidecar" });
      drivers.set(driver, calls);
      calls.observe({ method: method.slice(1), code: codeName(code), milliseconds: seconds * 1000 });
    },
    families: () => [...drivers.values()].flatMap((calls) => calls.families()),
  };
}
type Calls = ReturnType<typeof callMetrics>;

/** Whose volumes are controlled: refused before anything is reached. */
function requireVolumes(options: Options): void {
  const { csiAddress = [], engine, nodeDeployment, csiDriver = {} } = options;
  if (engine === true) requireOwnVolumes(options);
  else if (csiAddress.length === 0)
    throw new CommandError("whose volumes? Neither --csi-address nor --engine is given", {
      next: "name a driver's socket, --csi-address unix:///csi/csi.sock, or use --engine for Mooring's own volumes",
    });
  if (csiAddress.length < 2) return;
  if (nodeDeployment)
    throw new CommandError("--node-deployment is for the one driver that this process runs beside", {
      next: "run one `mooring controller` beside each driver of the node",
    });
  if (Object.hasOwn(csiDriver, ANY_DRIVER))
    throw new CommandError("which driver's CSIDriver object? There is more than one --csi-address", {
      next: "name it in front of the field: --csi-driver hostpath.csi.k8s.io/fsGroupPolicy=File",
    });
}

function requireOwnVolumes({ csiAddress, csiDriver, livenessListen }: Options): void {
  if (csiAddress !== undefined)
    throw new CommandError("--engine has a driver of its own, so there is none to reach at --csi-address", {
      next: "leave one of the two away",
    });
  if (csiDriver !== undefined)
    throw new CommandError("the CSIDriver object of Mooring's own volumes comes with its manifests", {
      next: "leave --csi-driver away, or use it with --csi-address",
    });
  if (livenessListen !== undefined)
    throw new CommandError(
      "--liveness-listen probes the driver at --csi-address, and --engine has none there",
      {
        next: "leave --liveness-listen away; /metrics of --metrics-listen shows that the process lives",
      },
    );
}

async function controller(options: Options): Promise<void> {
  keepGarbageSmall();
  requireVolumes(options);
  nodeDeploymentSettings(options, options);
  const blockMaps = snapshotMetadataSettings(options, options.csiAddress?.length ?? 0);
  const logger = await openLogger(options.logLevel);
  const ready = await readyFile(options.readyFile);
  await ready.clear();
  const store = await openCluster(options, { withoutManagers: true });
  const signal = stopSignal();
  const { onCall, families: calls } = countCalls();
  const { csiAddress: endpoints = [], livenessListen, metricsListen } = options;
  let drivers = (): readonly ControlledDriver[] => [];
  const families = () => [
    ...[...calls(), ...volumeMetrics(), ...snapshotMetrics(), ...capacityMetrics()],
    readyMetric(drivers()),
  ];
  const servers: MetricsEndpoint[] = [];
  try {
    if (metricsListen !== undefined) servers.push(await startMetricsServer(metricsListen, families, logger));
    // Before the driver is waited for: one that never comes has to be reported to the operator.
    if (livenessListen !== undefined) {
      const probed = { endpoints, endpointOf: (name: string) => drivers().find(called(name))?.endpoint };
      servers.push(await startLivenessServer(livenessListen, probed, logger));
    }
    const [endpoint] = endpoints;
    if (blockMaps !== undefined && endpoint !== undefined)
      servers.push(await startSnapshotMetadataServer(blockMaps, { store, endpoint, logger }));
    const watch = (live: typeof drivers) => {
      drivers = live;
    };
    await run(options, { store, logger, signal, onCall, ready: ready.write, watch });
  } catch (error) {
    // Asked to stop while the driver was waited for.
    if (!signal.aborted) throw error;
  } finally {
    await Promise.all(servers.map((server) => server.close()));
    store.close();
  }
}

const called = (wanted: string) => (driver: ControlledDriver) => driver.name === wanted;

interface Surroundings extends Pick<ControlledDrivers, "watch"> {
  store: RestStore;
  logger: Logger;
  signal: AbortSignal;
  onCall: OnCall;
  ready: (content: object) => Promise<void>;
}

type Shared = Omit<SidecarOptions, "store" | "endpoint" | "logger" | "signal">;

function sidecarsOf(options: Options, onCall: OnCall): Shared {
  return {
    ...settingsOf(options),
    ...leaderElectionOf(options),
    ...defined({ controllers: options.controllers }),
    namespace: options.namespace,
    timeoutMs: options.timeout,
    concurrency: options.workerThreads,
    onCall,
  };
}

/** Settles when the controllers have stopped. */
function run(options: Options, { onCall, ...around }: Surroundings): Promise<void> {
  const sidecars = sidecarsOf(options, onCall);
  const { csiAddress: endpoints = [], engine, nodeGrace, leaseDuration } = options;
  if (engine === true) return controlOwnVolumes({ ...around, sidecars, nodeGrace, leaseDuration });
  return controlDrivers({ ...around, sidecars, endpoints });
}

/** `mooring controller`: everything that Kubernetes needs around the CSI driver of any vendor, in one process. */
export function controllerCommand(): Command {
  const command = new Command("controller")
    .description("the control plane around any CSI driver: what its sidecars do, in one process")
    .addOption(
      new Option("--csi-address <socket>", "the driver's socket: unix:///csi/csi.sock; once for each driver")
        .env("CSI_ADDRESS")
        .argParser(csiAddress),
    )
    .option("--engine", "Mooring's own volumes, instead of a driver: arbiter, data services and fencing, too")
    .addOption(nodeGraceOption())
    .addOption(leaseDurationOption())
    .option("--kubeconfig <file>", "how to reach the API server (default in a pod: its service account)")
    .addOption(
      new Option("--controllers <names>", `those only, of ${NAMES.join(",")}`)
        .default(undefined, "all that the driver's capabilities allow")
        .argParser(controllerNames),
    )
    .addOption(csiDriverOption())
    .addOption(
      new Option("--node-name <name>", "the driver's node, for node-registration and --node-deployment").env(
        "NODE_NAME",
      ),
    )
    .addOption(
      new Option("--namespace <name>", "where records of unfinished calls and capacities are kept")
        .env("NAMESPACE")
        .default("kube-system"),
    )
    .addOption(switched("leader-election", "work only while this process holds the driver's lease", false))
    .option("--leader-election-namespace <name>", "where the lease is (default: the one of the records)")
    .addOption(
      new Option(
        "--leader-election-labels <labels>",
        "labels of the leases: key:value, with commas between",
      ).argParser(leaseLabels),
    )
    .action(controller);
  const flags = [
    withCallFlags,
    withReportFlags,
    withProvisionFlags,
    withNodeDeploymentFlags,
    withSnapshotMetadataFlags,
    refuseSidecarFlags,
  ];
  return flags.reduce((known, withFlags) => withFlags(known), command);
}

/** How the driver is called, and what goes with each call. */
function withCallFlags(command: Command): Command {
  return command
    .addOption(
      new Option("--timeout <time>", "for one call to the driver").argParser(duration).default(60_000, "60s"),
    )
    .addOption(
      new Option("--worker-threads <number>", "objects that one controller works on at once")
        .argParser(threads)
        .default(100),
    )
    .addOption(
      switched("extra-create-metadata", "send the driver the names of claims, volumes and snapshots", false),
    )
    .addOption(
      switched(
        "extra-modify-metadata",
        "send the driver the names of claims and volumes that it modifies",
        false,
      ),
    )
    .addOption(prefixOption("volume", "pvc"))
    .addOption(prefixOption("snapshot", "snapshot"))
    .addOption(prefixOption("groupsnapshot", "groupsnapshot"));
}

/** Where the process says how it is. */
function withReportFlags(command: Command): Command {
  return command
    .option("--metrics-listen <address>", "serve /metrics for Prometheus there; off unless given")
    .option("--liveness-listen <address>", "serve /healthz there, which probes the driver; off unless given")
    .option("--ready-file <file>", "written when the controllers run, or wait for the lease")
    .addOption(logLevelOption());
}

function prefixOption(kind: string, fallback: string): Option {
  return new Option(`--${kind}-name-prefix <text>`, `what names of ${kind}s begin with at the driver`)
    .argParser(prefix)
    .default(fallback);
}
