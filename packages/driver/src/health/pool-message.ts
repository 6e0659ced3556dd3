import {
  hasFailedFilesystem,
  isThickVolume,
  type Pool,
  spaceLow,
  type Volume,
  wayToDiskRoom,
  writersHeldMessage,
  writesFailMessage,
} from "@mooring/engine";

/** What of a pool's alert levels its volumes' users read, by the reason of `SpaceLow`. */
const LEVELS: Readonly<Record<string, string>> = {
  FillingUp: "85 % of the pool is used",
  AlmostFull: "95 % of the pool is used",
};

/**
 * What of its pool stops the writes into a volume: the cause, what to do, and the pool, whole in a response where the pool's name
 * has up to 24 characters. It has no number that changes all the time: each new text is an event of the claim. Undefined: nothing
 * does.
 */
export function poolStops(volume: Volume, pool: Pool | undefined): string | undefined {
  return pool && named(pool, stopsOf(volume, pool));
}

/** How full the pool is, of a volume that takes its room of it; as {@link poolStops}. */
export function poolLevel(volume: Volume, pool: Pool | undefined): string | undefined {
  // What a thick volume may need it has. Programs in folders of a disk see its end by themselves, and others fill it as well.
  if (pool === undefined || isThickVolume(volume) || pool.spec.type === "directory") return undefined;
  const level = LEVELS[spaceLow(pool)?.reason ?? ""];
  return named(pool, level && `${level}; ${shortWayToRoom(pool)}`);
}

function named({ metadata: { name } }: Pool, problem: string | undefined): string | undefined {
  return problem && `${problem} (pool ${name})`;
}

function stopsOf(volume: Volume, pool: Pool): string | undefined {
  if (hasFailedFilesystem(pool))
    return "the pool's file system has failed: writes fail; end the pods that use its volumes";
  if (writersHeldMessage(pool) !== undefined) return `the pool is full: writes wait; ${shortWayToRoom(pool)}`;
  if (isThickVolume(volume) || writesFailMessage(pool) === undefined) return undefined;
  if (wayToDiskRoom(pool) !== undefined)
    return "the disk below the pool is full: writes fail; make room on it";
  return `nothing is left in the pool: writes fail; ${shortWayToRoom(pool)}`;
}

/** A Ceph pool with a namespace removes nothing while it is full. */
function shortWayToRoom({ spec: { rbd } }: Pool): string {
  if (rbd === undefined) return "delete claims or snapshots, or enlarge it";
  return rbd.namespace === undefined
    ? "delete claims or snapshots, or raise its quota"
    : "raise its quota, then delete claims";
}
