import { type MetricFamily, metricsText, processMetrics } from "@mooring/csi";
import type { RequestMetrics } from "../api.ts";

type Measure = () => MetricFamily[] | Promise<MetricFamily[]>;

/** What the process uses, and what `more` adds. */
export function measureProcess(more: Measure = () => []): {
  measure(): Promise<MetricFamily[]>;
  stop(): void;
} {
  const own = processMetrics();
  return { measure: async () => [...own.families(), ...(await more())], stop: own.stop };
}

/** Requests by method and code, and what `measure` adds. */
export function createMetrics(measure: Measure): RequestMetrics {
  const requests = new Map<string, { labels: { method: string; code: string }; value: number }>();
  return {
    count(method, code) {
      const key = `${method} ${code}`;
      const sample = requests.get(key) ?? { labels: { method, code: String(code) }, value: 0 };
      sample.value += 1;
      requests.set(key, sample);
    },
    async text() {
      const name = "apiserver_request_total";
      const samples = [...requests.values()];
      return metricsText([
        { name, help: "Requests with a response.", type: "counter", samples },
        ...(await measure()),
      ]);
    },
  };
}
