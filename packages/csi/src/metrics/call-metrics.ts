import type { CodeName } from "../errors/codes.ts";
import { Histogram } from "./histogram.ts";
import type { Observe } from "./observe.ts";
import type { MetricFamily } from "./text.ts";

/** Upper bounds in seconds, the ones that the Kubernetes sidecars use, so that their dashboards fit. */
const BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];

/** The durations of the calls of one method that ended with one code. */
interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly durations: Histogram;
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
      durations: new Histogram(BUCKETS),
    };
    all.set(key, series);
    return series;
  };
  return {
    observe: ({ method, code, milliseconds }) => seriesOf(method, code).durations.took(milliseconds / 1000),
    families: () => [
      {
        name: `csi_${side}_operations_seconds`,
        help: "Calls of the Container Storage Interface: how long they took, by method and status.",
        type: "histogram",
        samples: [...all.values()].flatMap(({ labels, durations }) => durations.samples(labels)),
      },
    ],
  };
}

/** Codes as the field's dashboards have them: `InvalidArgument`, with two of their own spelling. */
function statusLabel(code: CodeName): string {
  if (code === "OK") return code;
  if (code === "CANCELLED") return "Canceled";
  return code.replace(/([A-Z])([A-Z]*)_?/g, (_, first: string, rest: string) => first + rest.toLowerCase());
}
