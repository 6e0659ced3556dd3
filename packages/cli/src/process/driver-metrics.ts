import { callMetrics, type Observe } from "@mooring/csi";
import { DRIVER_NAME } from "@mooring/engine";
import type { Logger } from "pino";
import { type MetricsEndpoint, startMetricsServer } from "./metrics-server.ts";

/** What the driver reports of itself while it serves. */
export interface DriverMetrics extends MetricsEndpoint {
  readonly observe: Observe;
}

/** Serves `/metrics`: the driver's calls, and what the process uses. */
export async function startMetrics(address: string, logger: Logger): Promise<DriverMetrics> {
  const calls = callMetrics({ driverName: DRIVER_NAME });
  const endpoint = await startMetricsServer(address, () => calls.families(), logger);
  return { ...endpoint, observe: calls.observe };
}
