/** One figure, beside what the same work costs without us, measured in the same run. */
export interface Measurement {
  name: string;
  unit: string;
  value: number;
  /** Absent where there is nothing to compare with; then `limit` is what is wanted. */
  baseline?: number;
  baselineName?: string;
  limit?: number;
}

/** `--short`: a run that shows that every measurement can still be taken; its figures mean nothing. */
export const SHORT = process.argv.includes("--short");

/** Throws for figures that are none, and when there are none at all; whether they are good is not asked. */
export function requireFigures(subject: string, taken: readonly Measurement[]): void {
  if (taken.length === 0) throw new Error(`${subject}: nothing was measured`);
  for (const { name, value, baseline = 0 } of taken) {
    if (Number.isFinite(value) && Number.isFinite(baseline)) continue;
    throw new Error(`${subject}: "${name}" is ${value}, its baseline ${baseline}`);
  }
}

/** How often, how many or how much: the second in a short run. */
export function sized(full: number, short: number): number {
  return SHORT ? short : full;
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** The smallest of the values that `part` (0 to 1) of them do not exceed; of fewer than 100 values, the p99 is the largest. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? Number.NaN;
}

/** Median milliseconds of `work` over `rounds` rounds; `work` gets the round's number. */
export async function time(rounds: number, work: (round: number) => Promise<void>): Promise<number> {
  return (await load(rounds, 1, work)).p50;
}

/** What many pieces of work took: milliseconds of one, and how many were done per second of all. */
export interface Load {
  p50: number;
  p99: number;
  perSecond: number;
}

/** Does `work` so many times, `inFlight` of them side by side; `work` gets the number of the piece. */
export async function load(
  count: number,
  inFlight: number,
  work: (index: number) => Promise<unknown>,
): Promise<Load> {
  const taken: number[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) {
      const start = performance.now();
      await work(next++);
      taken.push(performance.now() - start);
    }
  };
  const start = performance.now();
  await Promise.all(Array.from({ length: inFlight }, worker));
  const perSecond = (1000 * count) / (performance.now() - start);
  return { p50: percentile(taken, 0.5), p99: percentile(taken, 0.99), perSecond };
}

const FIGURES = [
  { figure: "p50", what: "p50", unit: "ms" },
  { figure: "p99", what: "p99", unit: "ms" },
  { figure: "perSecond", what: "throughput", unit: "1/s" },
] as const;

/** All figures of a load beside those of each baseline, by its name. */
export function compared(name: string, ours: Load, baselines: Readonly<Record<string, Load>>): Measurement[] {
  return Object.entries(baselines).flatMap(([baselineName, its]) =>
    FIGURES.map(({ figure, what, unit }) => ({
      ...{ name: `${name}: ${what}`, unit, baselineName },
      ...{ value: ours[figure], baseline: its[figure] },
    })),
  );
}
