import type { CodeName } from "../errors/codes.ts";
import type { Observe } from "./observe.ts";
import type { MetricFamily, MetricSample } from "./text.ts";

/** Upper bounds in seconds, the ones that the Kubernetes sidecars use, so that their dashboards fit. */
const BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];

/** The durations of the calls of one method that ended with one code. */
interface Series {
  readonly labels: Readonly<Record<string, string>>;
  /** How many took at most `BUCKETS[i]` and longer than the bound before it; the last entry: longer than all. */
  readonly counts: number[];
  seconds: number;
}

/** Whose calls are counted. */
export interface CallMetricsOptions {
  /** The plugin's name, as GetPluginInfo has it. */
  driverName: string;
  /** `plugin` (default) for the calls that a server handles, `sidecar` for those that a client makes. */
  side?: "plugin" | "sidecar";
}

/** Counts calls, by method and code, with how long they took. */
export interface CallMetrics {
  /** For the option of the same name of `createServer` and `connect`. */
  readonly observe: Observe;
  /** What was counted, for `metricsText`. */
  families(): MetricFamily[];
}

/**
 * A histogram of calls under the names of the field: `csi_plugin_operations_seconds`, or `csi_sidecar_...`, with the
 * labels `driver_name`, `method_name` (`/csi.v1.Node/NodeStageVolume`) and `grpc_status_code` (`OK`, `NotFound`).
 */
export function callMetrics({ driverName, side = "plugin" }: CallMetricsOptions): CallMetrics {
  const all = new Map<string, Series>();
  const seriesOf = (method: string, code: CodeName): Series => {
    const key = `${method} ${code}`;
    const found = all.get(key);
    if (found !== undefined) return found;
    const series = {
      labels: {
        driver_name: driverName,
        method_name: `/${method}`,
        grpc_status_code: statusLabel(code),
      },
      counts: new Array<number>(BUCKETS.length + 1).fill(0),
      seconds: 0,
    };
    all.set(key, series);
    return series;
  };
  return {
    observe: ({ method, code, milliseconds }) => {
      const series = seriesOf(method, code);
      const seconds = milliseconds / 1000;
      const index = BUCKETS.findIndex((bound) => seconds <= bound);
      const bucket = index < 0 ? BUCKETS.length : index;
      series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
      series.seconds += seconds;
    },
    families: () => [
      {
        name: `csi_${side}_operations_seconds`,
        help: "Calls of the Container Storage Interface: how long they took, by method and status.",
        type: "histogram",
        samples: [...all.values()].flatMap(samplesOf),
      },
    ],
  };
}

/** A histogram's buckets each include all smaller ones. */
function samplesOf({ labels, counts, seconds }: Series): MetricSample[] {
  let count = 0;
  const buckets = counts.map((each, index) => {
    count += each;
    return { suffix: "_bucket", labels: { ...labels, le: String(BUCKETS[index] ?? "+Inf") }, value: count };
  });
  return [...buckets, { suffix: "_sum", labels, value: seconds }, { suffix: "_count", labels, value: count }];
}

/** Codes as the field's dashboards have them: `InvalidArgument`, with two of their own spelling. */
function statusLabel(code: CodeName): string {
  if (code === "OK") return code;
  if (code === "CANCELLED") return "Canceled";
  return code.replace(/([A-Z])([A-Z]*)_?/g, (_, first: string, rest: string) => first + rest.toLowerCase());
}
