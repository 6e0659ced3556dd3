import { defined } from "@mooring/store";
import type { Measurement } from "../measure.ts";

/** Which figures may be how many times another's. */
type Most = readonly (readonly [figures: RegExp, times: number])[];

export const TUNED: Most = [
  [/^\d+ (claims|attachments): elapsed/, 1],
  [/^\d+ claims: processor/, 1.5],
];
export const DEFAULTS: Most = [[/^\d+ (claims|attachments): elapsed/, 1 / 5]];
export const IN_SMALL: Most = [[/: (writes|processor)/, 1.1]];

/** The same figures with what another needed for the same work. */
export function compare(
  ours: readonly Measurement[],
  { theirs, baselineName, most }: { theirs: readonly Measurement[]; baselineName: string; most: Most },
): Measurement[] {
  return ours.map(({ name, unit, value }, index) => {
    const baseline = theirs[index]?.value ?? Number.NaN;
    const times = most.find(([figures]) => figures.test(name))?.[1];
    const limit = times === undefined ? undefined : Math.round(100 * times * baseline) / 100;
    return { ...{ name, unit, value, baselineName, baseline }, ...defined({ limit }) };
  });
}
