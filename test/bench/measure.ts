/** One figure, beside what the same work costs without us, measured in the same run. */
export interface Measurement {
  name: string;
  unit: string;
  value: number;
  /** Absent where there is nothing to compare with; then `limit` says what is wanted. */
  baseline?: number;
  baselineName?: string;
  limit?: number;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Median milliseconds of `work` over `rounds` rounds; `work` gets the round's number. */
export async function time(rounds: number, work: (round: number) => Promise<void>): Promise<number> {
  const taken: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const start = performance.now();
    await work(round);
    taken.push(performance.now() - start);
  }
  return median(taken);
}
