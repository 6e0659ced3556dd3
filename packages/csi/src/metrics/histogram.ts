import type { MetricSample } from "./text.ts";

/** How long things took, by upper bounds in seconds, in the form of Prometheus. */
export class Histogram {
  readonly #bounds: readonly number[];
  /** How many took at most the bound and longer than the one before it; the last entry: longer than all. */
  readonly #counts: number[];
  #seconds = 0;

  /** `bounds`: in seconds, growing. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Array<number>(bounds.length + 1).fill(0);
  }

  /** One more that took so long. */
  took(seconds: number): void {
    const index = this.#bounds.findIndex((bound) => seconds <= bound);
    const bucket = index < 0 ? this.#bounds.length : index;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#seconds += seconds;
  }

  /** The samples of a family of type `histogram`: each bucket includes all smaller ones. */
  samples(labels: Readonly<Record<string, string>>): MetricSample[] {
    let count = 0;
    const buckets = this.#counts.map((each, index) => {
      count += each;
      const le = String(this.#bounds[index] ?? "+Inf");
      return { suffix: "_bucket", labels: { ...labels, le }, value: count };
    });
    const sum = { suffix: "_sum", labels, value: this.#seconds };
    return [...buckets, sum, { suffix: "_count", labels, value: count }];
  }
}
