/** One number of a family. `suffix` is for the parts of a histogram: `_bucket`, `_sum`, `_count`. */
export interface MetricSample {
  labels?: Readonly<Record<string, string>>;
  suffix?: string;
  value: number;
}

/** Numbers that belong together: one name, one meaning, distinguished by their labels. */
export interface MetricFamily {
  name: string;
  help: string;
  type: "counter" | "gauge" | "histogram";
  samples: readonly MetricSample[];
}

/** The content type of `metricsText`. */
export const METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

const ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", '"': '\\"', "\n": "\\n" };

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(
    ([name, value]) => `${name}="${value.replace(/[\\"\n]/g, (each) => ESCAPES[each] ?? each)}"`,
  );
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

/** Families in the text format of Prometheus, version 0.0.4. Empty ones are left out. */
export function metricsText(families: readonly MetricFamily[]): string {
  const lines = families
    .filter(({ samples }) => samples.length > 0)
    .flatMap(({ name, help, type, samples }) => [
      `# HELP ${name} ${help}`,
      `# TYPE ${name} ${type}`,
      ...samples.map(
        ({ labels = {}, suffix = "", value }) => `${name}${suffix}${labelText(labels)} ${value}`,
      ),
    ]);
  return lines.map((line) => `${line}\n`).join("");
}
