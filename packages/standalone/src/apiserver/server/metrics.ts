import { type MetricFamily, metricsText, processMetrics } from "@mooring/csi";
import type { RequestMetrics } from "../api.ts";

type MoreMetrics = () => MetricFamily[] | Promise<MetricFamily[]>;

/** Requests by method and code, what the process uses, and what `more` adds. */
export function createMetrics(more: MoreMetrics = () => []): RequestMetrics & { stop(): void } {
  const requests = new Map<string, { labels: { method: string; code: string }; value: number }>();
  const own = processMetrics();
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
        { name, help: "Requests answered.", type: "counter", samples },
        ...own.families(),
        ...(await more()),
      ]);
    },
    stop: own.stop,
  };
}
