import { callMetrics, type Observe, processMetrics, serveMetrics } from "@mooring/csi";
import { DRIVER_NAME } from "@mooring/engine";
import type { Logger } from "pino";
import { CommandError } from "../output/command-error.ts";
import { EXIT } from "../output/exit-codes.ts";
import { listenAddress } from "./listen-address.ts";

/** What the driver tells of itself while it serves. */
export interface DriverMetrics {
  readonly observe: Observe;
  close(): Promise<void>;
}

const OPTION = "--metrics-listen";

/** Serves `/metrics`: the driver's calls, and what the process uses. */
export async function startMetrics(address: string, logger: Logger): Promise<DriverMetrics> {
  const { host, port } = listenAddress(OPTION, address);
  const calls = callMetrics({ driverName: DRIVER_NAME });
  const process = processMetrics();
  try {
    const families = () => [...calls.families(), ...process.families()];
    const server = await serveMetrics({ host, port }, families);
    logger.info({ host, port: server.port }, "serving metrics");
    return {
      observe: calls.observe,
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
