import { monitorEventLoopDelay } from "node:perf_hooks";
import type { RequestMetrics } from "../api.ts";

/** Requests by method and code, memory, and how long the event loop was held up. */
export function createMetrics(): RequestMetrics & { stop(): void } {
  const requests = new Map<string, number>();
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  return {
    count(method, code) {
      const labels = `method="${method}",code="${code}"`;
      requests.set(labels, (requests.get(labels) ?? 0) + 1);
    },
    text() {
      const lines = [
        "# HELP apiserver_request_total Requests answered.",
        "# TYPE apiserver_request_total counter",
        ...[...requests].map(([labels, count]) => `apiserver_request_total{${labels}} ${count}`),
        "# HELP process_resident_memory_bytes Resident memory.",
        "# TYPE process_resident_memory_bytes gauge",
        `process_resident_memory_bytes ${process.memoryUsage.rss()}`,
        "# HELP nodejs_eventloop_lag_max_seconds Longest delay of the event loop.",
        "# TYPE nodejs_eventloop_lag_max_seconds gauge",
        `nodejs_eventloop_lag_max_seconds ${delay.max / 1e9}`,
      ];
      return `${lines.join("\n")}\n`;
    },
    stop: () => delay.disable(),
  };
}
