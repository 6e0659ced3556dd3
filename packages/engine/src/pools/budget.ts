import { EngineError } from "../errors.ts";
import type { PoolUsage } from "./backend.ts";

/** How much a pool may promise, and what it keeps free. */
export interface BudgetRules {
  /** Promised bytes may exceed the pool's size by this factor. */
  overcommit: number;
  /** Bytes kept free: a full pool shuts down the file systems of volumes that were promised space. */
  reserve: number;
}

/** Images are sparse: most never grow to what was promised. */
export const DEFAULT_OVERCOMMIT = 10;
/** Of a pool's size, this much is kept free. */
export const DEFAULT_RESERVE_FRACTION = 0.05;

/** Throws RESOURCE_EXHAUSTED, with the numbers, when `more` promised bytes do not fit. */
export function requireBudget(usage: PoolUsage, rules: BudgetRules, more: number): void {
  if (usage.freeBytes < rules.reserve) {
    const message = `the pool has ${usage.freeBytes} bytes free and keeps ${rules.reserve} in reserve`;
    throw new EngineError("RESOURCE_EXHAUSTED", message, {
      hint: "delete volumes or snapshots, or make the pool larger",
    });
  }
  const limit = Math.floor(usage.totalBytes * rules.overcommit);
  if (usage.promisedBytes + more <= limit) return;
  const message =
    `${more} more bytes do not fit: ${usage.promisedBytes} of at most ${limit} are promised ` +
    `(${usage.totalBytes} bytes times over-commit ${rules.overcommit})`;
  throw new EngineError("RESOURCE_EXHAUSTED", message, {
    hint: "ask for less, delete volumes, or raise the pool's size or overcommit",
  });
}

/** The largest volume that the rules let in now. */
export function largestVolume(usage: PoolUsage, rules: BudgetRules): number {
  if (usage.freeBytes < rules.reserve) return 0;
  return Math.max(0, Math.floor(usage.totalBytes * rules.overcommit) - usage.promisedBytes);
}
