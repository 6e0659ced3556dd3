import type { Pool } from "@mooring/engine";

/** Promised bytes may exceed the pool by this factor unless the pool says otherwise. */
const DEFAULT_OVERCOMMIT = 10;
const DEFAULT_RESERVE = 0.05;

/**
 * Bytes of new volumes that a pool takes now. Volumes are thin: what counts is the promise, as long as the pool is
 * above its reserve. A `directory` pool promises nothing, so its free space is what there is.
 */
export function availableBytes(pool: Pool): bigint {
  const { totalBytes = 0, freeBytes = 0, promisedBytes = 0, ready = false } = pool.status ?? {};
  const reserve = pool.spec.reserve ?? totalBytes * DEFAULT_RESERVE;
  if (!ready || freeBytes <= reserve) return 0n;
  if (pool.spec.type === "directory") return BigInt(Math.floor(freeBytes - reserve));
  const promise = totalBytes * (pool.spec.overcommit ?? DEFAULT_OVERCOMMIT) - promisedBytes;
  return BigInt(Math.max(0, Math.floor(promise)));
}
