import { type MetricFamily, processMetrics, serveMetrics } from "@mooring/csi";
import type { Logger } from "pino";
import { listenAddress } from "../options/listen-address.ts";
import { CommandError } from "../output/command-error.ts";
import { EXIT } from "../output/exit-codes.ts";
import { reconcileMetrics } from "./reconcile-metrics.ts";

const OPTION = "--metrics-listen";

/** A server of `/metrics` that is listening. */
export interface MetricsEndpoint {
  close(): Promise<void>;
}

/** Serves `/metrics`: the given families, what controllers have done, and what the process uses. Throws CommandError. */
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
    throw listenFailure(address, error);
  }
}

function listenFailure(address: string, error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "EADDRINUSE") {
    return new CommandError(`another process listens on ${address}`, {
      next: `stop it, or choose another address for ${OPTION}`,
      exitCode: EXIT.busy,
      cause: error,
    });
  }
  return new CommandError(`${OPTION} ${address} cannot be had: ${message}`, {
    next: "use an address of this machine, for example 127.0.0.1:9810",
    cause: error,
  });
}
