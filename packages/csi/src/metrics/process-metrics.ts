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

/** Between two samples of the event loop. Each wakes the process up, which is most of what an idle one costs. */
const BEAT_MS = 100;

/**
 * Memory, processor time, and for how long the event loop was blocked since this was called: in seconds, to within
 * {@link BEAT_MS} milliseconds less.
 */
export function processMetrics(): ProcessMetrics {
  const delay = monitorEventLoopDelay({ resolution: BEAT_MS });
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
          // What is measured is the time from one sample to the next.
          Math.max(0, delay.max / 1e9 - BEAT_MS / 1000),
        ),
      ];
    },
    stop: () => delay.disable(),
  };
}
