import { Histogram, type MetricFamily } from "@mooring/csi";
import type { PersistentVolume, PersistentVolumeClaim } from "@mooring/store";

/** Upper bounds in seconds: those that external-provisioner has. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** What became of attempts that have these labels. */
interface Series {
  labels: Readonly<Record<string, string>>;
  done: number;
  failed: number;
  durations: Histogram;
}

/** One kind of work on volumes, counted as external-provisioner counts it, under its names. */
class Attempts {
  readonly #name: string;
  readonly #what: string;
  readonly #series = new Map<string, Series>();

  /** `what`: "persistent volumes provisioned", for help texts. */
  constructor(name: string, what: string) {
    this.#name = name;
    this.#what = what;
  }

  /** `seconds` is absent where an earlier life has begun it. */
  done(labels: Series["labels"], seconds: number | undefined): void {
    const series = this.#of(labels);
    series.done += 1;
    if (seconds !== undefined) series.durations.took(seconds);
  }

  failed(labels: Series["labels"]): void {
    this.#of(labels).failed += 1;
  }

  families(): MetricFamily[] {
    const all = [...this.#series.values()];
    const counter = (of: "done" | "failed", suffix: string, help: string): MetricFamily => ({
      ...{ name: `controller_${this.#name}${suffix}_total`, type: "counter", help },
      samples: all.filter((series) => series[of] > 0).map(({ labels, [of]: value }) => ({ labels, value })),
    });
    return [
      counter("done", "", `Total number of ${this.#what}.`),
      counter("failed", "_failed", `Total number of failed attempts: ${this.#what}.`),
      {
        ...{ name: `controller_${this.#name}_duration_seconds`, type: "histogram" },
        help: `Latency in seconds, without failed attempts: ${this.#what}.`,
        samples: all.flatMap(({ labels, durations }) => durations.samples(labels)),
      },
    ];
  }

  #of(labels: Series["labels"]): Series {
    const key = JSON.stringify(labels);
    const series = this.#series.get(key) ?? { labels, done: 0, failed: 0, durations: new Histogram(BUCKETS) };
    this.#series.set(key, series);
    return series;
  }
}

/** Of this process, of all its drivers. */
export const provisioned = new Attempts("persistentvolumeclaim_provision", "persistent volumes provisioned");
export const deleted = new Attempts("persistentvolume_delete", "persistent volumes deleted");

export const labelsOfClaim = ({ spec }: PersistentVolumeClaim): Series["labels"] => ({
  class: spec?.storageClassName ?? "",
  source: spec?.dataSource?.kind ?? "",
});

export const labelsOfVolume = ({ spec }: PersistentVolume): Series["labels"] => ({
  class: spec?.storageClassName ?? "",
});

/** What became of claims and volumes, by the names that dashboards of external-provisioner ask for. */
export const volumeMetrics = (): MetricFamily[] => [...provisioned.families(), ...deleted.families()];
