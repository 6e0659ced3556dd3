import { monitorEventLoopDelay } from "node:perf_hooks";
import type { MetricFamily } from "./text.ts";

/** What this process uses of its machine. */
export interface ProcessMetrics {
  families(): MetricFamily[];
  stop(): void;
}

function single(type: "counter" | "gauge", name: string, help: string, value: number): MetricFamily {
  return { name, help, type, samples: [{ value }] };
}

/** Memory, processor time, and for how long the event loop was blocked since this was called. */
export function processMetrics(): ProcessMetrics {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  const started = Math.round(performance.timeOrigin) / 1000;
  return {
    families: () => {
      const { rss, heapUsed, heapTotal, external } = process.memoryUsage();
      const { user, system } = process.cpuUsage();
      return [
        single("gauge", "process_resident_memory_bytes", "Resident memory.", rss),
        single("counter", "process_cpu_seconds_total", "Processor time used.", (user + system) / 1e6),
        single("gauge", "process_start_time_seconds", "When the process started, in Unix time.", started),
        single("gauge", "nodejs_heap_size_used_bytes", "The heap's memory in use.", heapUsed),
        single("gauge", "nodejs_heap_size_total_bytes", "The heap's memory.", heapTotal),
        single("gauge", "nodejs_external_memory_bytes", "Memory of buffers outside of the heap.", external),
        single(
          "gauge",
          "nodejs_eventloop_lag_max_seconds",
          "Longest delay of the event loop.",
          delay.max / 1e9,
        ),
      ];
    },
    stop: () => delay.disable(),
  };
}
