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

/** Milliseconds between two samples of the event loop. Each sample wakes the process up, most of the processor time of an idle one. */
const BEAT_MS = 100;

/**
 * Begins to measure this process: memory, processor time, and for how many seconds its event loop has been blocked since this call.
 * Blocks shorter than {@link BEAT_MS} may be missed, and longer ones are counted up to as much too short.
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
