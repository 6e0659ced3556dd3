import { type MetricFamily, processMetrics, serveMetrics } from "@mooring/csi";
import type { Logger } from "pino";
import { listenAddress } from "../options/listen-address.ts";
import { listenFailure } from "./listen-failure.ts";
import { queueMetrics } from "./queue-metrics.ts";
import { reconcileMetrics } from "./reconcile-metrics.ts";

const OPTION = "--metrics-listen";

/** A server for other programs of the operator that is listening. */
export interface MetricsEndpoint {
  close(): Promise<void>;
}

/** Serves `/metrics`: the given families, what controllers and their work queues have done, and what the process uses. Throws CommandError. */
export async function startMetricsServer(
  address: string,
  families: () => readonly MetricFamily[],
  logger: Logger,
): Promise<MetricsEndpoint> {
  const { host, port } = listenAddress(OPTION, address, "127.0.0.1:9810");
  const process = processMetrics();
  try {
    const server = await serveMetrics({ host, port }, () => [
      ...families(),
      ...reconcileMetrics(),
      ...queueMetrics(),
      ...process.families(),
    ]);
    logger.info({ host, port: server.port }, "serving metrics");
    return {
      close: async () => {
        process.stop();
        await server.close();
      },
    };
  } catch (error) {
    process.stop();
    throw listenFailure(OPTION, address, error);
  }
}
