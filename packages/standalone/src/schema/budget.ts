/**
 * What one request may cost. Checking an object runs what untrusted clients have written (regular expressions, CEL rules) on what
 * they have sent, all in one turn of the event loop: it is counted, and ends when it is too much, not when it is done.
 */
export class BudgetSpent extends Error {
  override readonly name = "BudgetSpent";
  constructor() {
    super("the object takes more work to check than one request may cost");
  }
}

/** Steps of an expression, or characters that a regular expression reads: some 50 ms of a slow processor. */
const MOST_WORK = 300_000;

let left = Number.POSITIVE_INFINITY;

/** Counts work while a budget is set. Throws {@link BudgetSpent}. */
export function spend(units: number): void {
  left -= units;
  if (left < 0) throw new BudgetSpent();
}

/** Runs something synchronous that may not cost more than a request may; inside of another one, as part of that. */
export function withinBudget<T>(work: () => T, units: number = MOST_WORK): T {
  if (left !== Number.POSITIVE_INFINITY) return work();
  left = units;
  try {
    return work();
  } finally {
    left = Number.POSITIVE_INFINITY;
  }
}
