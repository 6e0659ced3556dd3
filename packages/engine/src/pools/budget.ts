import { EngineError } from "../errors.ts";
import type { PoolUsage } from "./backend.ts";
import { isSnapshotImage } from "./image-id.ts";

/** How much a pool may promise, and what it keeps free. */
export interface BudgetRules {
  /** All volumes together may be so many times the pool's size. */
  overcommit: number;
  /** Bytes kept free: a full pool shuts down the file systems of volumes that were promised space. */
  reserve: number;
}

/** Who does not ask for more is not promised what is not there. */
export const DEFAULT_OVERCOMMIT = 1;
/** Of a pool's size, this much is kept free. */
export const DEFAULT_RESERVE_FRACTION = 0.05;

/**
 * Bytes that images, by their ids, promise to users. A snapshot promises nothing: nobody writes into it, and it takes only
 * what its volume has changed since. How often that may be is bounded by the reserve.
 */
export function promisedBy(images: Iterable<readonly [id: string, size: number]>): number {
  let sum = 0;
  for (const [id, size] of images) if (!isSnapshotImage(id)) sum += size;
  return sum;
}

/** Throws RESOURCE_EXHAUSTED, with the numbers, when `more` promised bytes do not fit. */
export function requireBudget(usage: PoolUsage, rules: BudgetRules, more: number): void {
  if (usage.freeBytes < rules.reserve) {
    const message = `the pool has ${usage.freeBytes} bytes free and keeps ${rules.reserve} in reserve`;
    throw new EngineError("RESOURCE_EXHAUSTED", message, {
      hint: "delete volumes or snapshots, or make the pool larger",
    });
  }
  const limit = Math.floor(usage.totalBytes * rules.overcommit);
  // A pool that has promised more already, by rules that were others, goes on with what it has.
  if (more <= 0 || usage.promisedBytes + more <= limit) return;
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
