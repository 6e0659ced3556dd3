import { shortText } from "./short-text.ts";
import type { VolumeProblem } from "./volume-problems.ts";

/** `VolumeHealth` of the specification: an entry per status and reason, the first message of each. */
export function volumeHealth(volumeId: string, problems: readonly VolumeProblem[]) {
  const entries = new Map<string, VolumeProblem>();
  for (const problem of problems) {
    const key = `${problem.status} ${problem.reason}`;
    if (!entries.has(key)) entries.set(key, { ...problem, message: shortText(problem.message) });
  }
  return { volumeId, healthStatuses: [...entries.values()] };
}
