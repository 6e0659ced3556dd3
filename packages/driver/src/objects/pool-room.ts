import {
  DEFAULT_OVERCOMMIT,
  DEFAULT_RESERVE_FRACTION,
  largestVolume,
  type Pool,
  wayToRoom,
  writersHeldMessage,
} from "@mooring/engine";
import { describeBytes } from "@mooring/store";

/** Too little is free for anything new; what has been promised may not fit either. */
export function isBelowReserve(pool: Pool): boolean {
  return (pool.status?.freeBytes ?? 0) <= reserveOf(pool);
}

/** How much more may be promised than there is. */
function overcommitOf({ spec }: Pool): number {
  return spec.overcommit ?? DEFAULT_OVERCOMMIT;
}

function reserveOf({ spec, status }: Pool): number {
  return spec.reserve ?? (status?.totalBytes ?? 0) * DEFAULT_RESERVE_FRACTION;
}

/** Of each way in which a pool gives its room to volumes. */
export interface ByProvisioning<T> {
  thin: T;
  thick: T;
}

/**
 * Bytes of new volumes that a pool takes now. Of thin ones the promise counts, as long as the pool is above its reserve;
 * thick ones take what is free above it. A `directory` pool has no sizes to limit a volume to, so its free space is what
 * there is.
 */
export function availableBytes(pool: Pool): ByProvisioning<bigint> {
  return { thin: bytesLeft(pool, false), thick: bytesLeft(pool, true) };
}

function bytesLeft(pool: Pool, thick: boolean): bigint {
  const {
    totalBytes = 0,
    freeBytes = 0,
    promisedBytes = 0,
    thickBytes = 0,
    ready = false,
  } = pool.status ?? {};
  if (!ready || isBelowReserve(pool) || writersHeldMessage(pool) !== undefined) return 0n;
  const usage = { totalBytes, freeBytes, promisedBytes, thickBytes };
  const rules = { overcommit: overcommitOf(pool), reserve: reserveOf(pool) };
  const promise = largestVolume(usage, rules, thick);
  if (pool.spec.type !== "directory") return BigInt(promise);
  return BigInt(Math.min(promise, Math.floor(freeBytes - reserveOf(pool))));
}

/** What a pool has left, as text with numbers. */
export function describeRoom(pool: Pool): ByProvisioning<string> {
  return { thin: describe(pool, false), thick: describe(pool, true) };
}

function describe(pool: Pool, thick: boolean): string {
  const { name } = pool.metadata;
  const { totalBytes = 0, freeBytes = 0, promisedBytes = 0, thickBytes = 0 } = pool.status ?? {};
  if (writersHeldMessage(pool) !== undefined)
    return `pool "${name}" is full: its writers are suspended until there is room`;
  if (isBelowReserve(pool))
    return `pool "${name}" has ${describeBytes(freeBytes)} free and is below its reserve`;
  const room = `pool "${name}" has room for ${describeBytes(bytesLeft(pool, thick))}`;
  if (thick)
    return `${room}: of its ${describeBytes(totalBytes)} ${describeBytes(freeBytes)} are free, and ${describeBytes(thickBytes)} are those of thick volumes`;
  return (
    `${room}: ${describeBytes(promisedBytes)} are promised, ` +
    `its ${describeBytes(totalBytes)} may be promised ${overcommitOf(pool)} times`
  );
}

const MAKE_ROOM = "Delete volumes or snapshots, grow the pool, or raise its over-commit factor.";

/** Next step for pools that have no room left. */
export function roomHint(...pools: readonly (Pool | undefined)[]): string {
  const [first, ...others] = pools;
  if (first?.spec.rbd === undefined || others.length > 0) return MAKE_ROOM;
  const way = wayToRoom(first);
  return `${way.charAt(0).toUpperCase()}${way.slice(1)}.`;
}
