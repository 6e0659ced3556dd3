import type { Pool } from "@mooring/engine";

/** Promised bytes may exceed the pool by this factor unless the pool says otherwise. */
const DEFAULT_OVERCOMMIT = 10;
const DEFAULT_RESERVE = 0.05;

/** Too little is free for anything new; what has been promised may not fit either. */
export function isBelowReserve(pool: Pool): boolean {
  return (pool.status?.freeBytes ?? 0) <= reserveOf(pool);
}

function reserveOf({ spec, status }: Pool): number {
  return spec.reserve ?? (status?.totalBytes ?? 0) * DEFAULT_RESERVE;
}

/**
 * Bytes of new volumes that a pool takes now. Volumes are thin: what counts is the promise, as long as the pool is
 * above its reserve. A `directory` pool promises nothing, so its free space is what there is.
 */
export function availableBytes(pool: Pool): bigint {
  const { totalBytes = 0, freeBytes = 0, promisedBytes = 0, ready = false } = pool.status ?? {};
  if (!ready || isBelowReserve(pool)) return 0n;
  if (pool.spec.type === "directory") return BigInt(Math.floor(freeBytes - reserveOf(pool)));
  const promise = totalBytes * (pool.spec.overcommit ?? DEFAULT_OVERCOMMIT) - promisedBytes;
  return BigInt(Math.max(0, Math.floor(promise)));
}
