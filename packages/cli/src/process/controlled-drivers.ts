import type { MetricFamily } from "@mooring/csi";
import {
  type ControlledDriver,
  type SidecarOptions,
  startManySidecars,
  startSidecars,
} from "@mooring/sidecars";
import { managedBy, type RestStore } from "@mooring/store";
import type { Logger } from "pino";

/** Whose control planes run in this process, and what they are given. */
export interface ControlledDrivers {
  store: RestStore;
  logger: Logger;
  signal: AbortSignal;
  /** Sockets, at least one. */
  endpoints: readonly string[];
  sidecars: Omit<SidecarOptions, "store" | "endpoint" | "logger" | "signal">;
  /** Writes the ready file. */
  ready: (content: object) => Promise<void>;
  /** Given once: what is known about the drivers from then on. */
  watch: (drivers: () => readonly ControlledDriver[]) => void;
}

/** `mooring controller --csi-address`. Settles when the controllers have stopped; rejects when those of an only driver broke. */
export function controlDrivers(options: ControlledDrivers): Promise<void> {
  const [only, ...others] = options.endpoints;
  return only !== undefined && others.length === 0 ? controlOne(options, only) : controlMany(options);
}

/** Whoever has started this process starts it again when it breaks. */
async function controlOne(options: ControlledDrivers, endpoint: string): Promise<void> {
  const { store, logger, signal, ready, watch } = options;
  logger.info({ csiAddress: endpoint }, "reaching the driver");
  const sidecars = await startSidecars({
    ...options.sidecars,
    ...{ endpoint, logger, signal, store: managedBy(store, MANAGER) },
  });
  const { driver, controllers, health } = sidecars;
  const { name, version } = driver;
  watch(() => [{ endpoint, name, version, controllers, ready: health.ready }]);
  print(name, version, controllers);
  await ready({ pid: process.pid, driver: name, controllers });
  await sidecars.done;
}

/** A driver that is not there or breaks must not end the process: others are served by it. */
async function controlMany(options: ControlledDrivers): Promise<void> {
  const { store, logger, signal, endpoints, ready, watch } = options;
  logger.info({ csiAddresses: endpoints }, "reaching the drivers");
  const printed = new Set<string>();
  let writing = Promise.resolve();
  const onProgress = (drivers: readonly ControlledDriver[]) => {
    for (const { name, version = "", controllers } of drivers) {
      if (name === undefined || printed.has(`${name} ${version}`)) continue;
      printed.add(`${name} ${version}`);
      print(name, version, controllers);
    }
    // The first one that is controlled makes the process ready: it serves as many as there are.
    if (!drivers.some((driver) => driver.ready)) return;
    const content = { pid: process.pid, drivers: drivers.map(inReadyFile) };
    writing = writing
      .then(() => ready(content))
      .catch((error: unknown) => logger.error({ err: error }, "cannot write the ready file"));
  };
  const many = startManySidecars({
    ...options.sidecars,
    ...{ endpoints, logger, signal, store: managedBy(store, MANAGER), onProgress },
  });
  watch(many.drivers);
  await many.done;
  await writing;
}

const MANAGER = "mooring-controller";

function print(name: string, version: string, controllers: readonly string[]): void {
  process.stdout.write(`controlling ${name} ${version}\n  ${controllers.join(", ")}\n`);
}

function inReadyFile({ endpoint, name, controllers, trouble }: ControlledDriver): object {
  return { csiAddress: endpoint, driver: name, controllers, trouble };
}

/** Whether each driver is controlled and responds. */
export function readyMetric(drivers: readonly ControlledDriver[]): MetricFamily {
  return {
    name: "mooring_driver_ready",
    help: "1 when the driver at this socket is controlled and responds, else 0.",
    type: "gauge",
    samples: drivers.map(({ endpoint, name = "", ready }) => ({
      labels: { csi_address: endpoint, driver_name: name },
      value: ready ? 1 : 0,
    })),
  };
}
