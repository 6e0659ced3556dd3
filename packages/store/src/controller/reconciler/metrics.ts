/** What a controller has done since its process began. */
export interface ReconcileCounts {
  /** Keys taken to an end. */
  reconciled: number;
  steps: number;
  /** Steps that met an outdated picture. */
  conflicts: number;
  failures: number;
  /** Work that a resync found and no event had asked for: each is a defect. */
  resyncFound: number;
}

const counts = new Map<string, ReconcileCounts>();

/** The counts of one controller, shared by all that have its name. */
export function countsOf(controller: string): ReconcileCounts {
  const known = counts.get(controller);
  if (known !== undefined) return known;
  const fresh = { reconciled: 0, steps: 0, conflicts: 0, failures: 0, resyncFound: 0 };
  counts.set(controller, fresh);
  return fresh;
}

/** Counts of all controllers of this process, by name. */
export function reconcileCounts(): ReadonlyMap<string, Readonly<ReconcileCounts>> {
  return counts;
}
