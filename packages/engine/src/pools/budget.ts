import { describeBytes } from "@mooring/store";
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

/** The default: a pool promises what it has, and more only where an operator asks for that. */
export const DEFAULT_OVERCOMMIT = 1;
/** Of a pool's size, this much is kept free. */
export const DEFAULT_RESERVE_FRACTION = 0.05;

/**
 * Bytes that images, by their ids, promise to users. A snapshot promises nothing: no workload writes into it, and it takes
 * only what its volume has changed since. How often that may be is bounded by the reserve.
 */
export function promisedBy(images: Iterable<readonly [id: string, size: number]>): number {
  let sum = 0;
  for (const [id, size] of images) if (!isSnapshotImage(id)) sum += size;
  return sum;
}

/** What an image that is to be made, or to grow, asks of its pool. In bytes. */
export interface Demand {
  /** More that its user is promised. */
  promised: number;
  /** How much of that is thick. */
  thick: number;
  /** Room that it takes at once. */
  blocks: number;
}

/** Throws RESOURCE_EXHAUSTED, with the numbers, when there is no room for it. */
export function requireBudget(
  usage: PoolUsage,
  rules: BudgetRules,
  { promised, thick, blocks }: Demand,
): void {
  const { freeBytes, promisedBytes, totalBytes } = usage;
  if (freeBytes < rules.reserve) {
    const message = `the pool has ${describeBytes(freeBytes)} free and keeps ${describeBytes(rules.reserve)} in reserve`;
    throw new EngineError("RESOURCE_EXHAUSTED", message, { hint: MAKE_ROOM });
  }
  if (blocks > 0 && freeBytes - blocks < rules.reserve) {
    const message =
      `${describeBytes(blocks)} are to be set aside for a thick volume, or for a copy of one: ` +
      `the pool has ${describeBytes(freeBytes)} free and keeps ${describeBytes(rules.reserve)} in reserve`;
    throw new EngineError("RESOURCE_EXHAUSTED", message, { hint: MAKE_ROOM });
  }
  const limit = promiseLimit(totalBytes, usage.thickBytes + thick, rules.overcommit);
  // A pool that has promised more already, by rules that were others, goes on with what it has.
  if (promised <= 0 || promisedBytes + promised <= limit) return;
  const message =
    `${describeBytes(promised)} more do not fit: ${describeBytes(promisedBytes)} of at most ${describeBytes(limit)} are promised ` +
    `(${describeBytes(totalBytes)} times over-commit ${rules.overcommit})`;
  throw new EngineError("RESOURCE_EXHAUSTED", message, {
    hint: "ask for less, delete volumes, or raise the pool's size or overcommit",
  });
}

const MAKE_ROOM = "delete volumes or snapshots, or make the pool larger";

/** What is thick cannot be promised twice: thin volumes have so many times what thick ones leave. */
function promiseLimit(total: number, thick: number, overcommit: number): number {
  return Math.floor(Math.max(0, total - thick) * overcommit) + thick;
}

/** The largest volume for which there is room now. */
export function largestVolume(usage: PoolUsage, rules: BudgetRules, thick = false): number {
  const { freeBytes, promisedBytes, thickBytes, totalBytes } = usage;
  if (freeBytes < rules.reserve) return 0;
  const thin = promisedBytes - thickBytes;
  const left = thick
    ? Math.min(totalBytes - thickBytes - thin / rules.overcommit, freeBytes - rules.reserve)
    : promiseLimit(totalBytes, thickBytes, rules.overcommit) - promisedBytes;
  return Math.max(0, Math.floor(left));
}
