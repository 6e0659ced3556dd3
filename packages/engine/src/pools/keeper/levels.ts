const MIB = 1024 * 1024;
/** Part of the pool that is left when its writers are frozen. */
const FREEZE_FRACTION = 1 / 32;
const LEAST_FREE = 64 * MIB;
const MOST_FREE = 512 * MIB;

/** Bytes at which a pool's keeper acts. */
export interface KeeperLevels {
  /** Writers are frozen when no more than this is free. */
  freeze: number;
  /** They go on when this is free. Above `freeze`, so that a little room does not make them stop and go. */
  resume: number;
  /** Bytes kept in a file that a frozen pool gives up for its own work (removing images, growing). */
  ballast: number;
}

/**
 * Levels for a pool of so many bytes. `freeze` is what the fastest disks write between two reads of a keeper on a busy
 * machine; a very small pool keeps less of itself.
 */
export function keeperLevels(totalBytes: number): KeeperLevels {
  const wanted = Math.min(MOST_FREE, Math.max(LEAST_FREE, totalBytes * FREEZE_FRACTION));
  const freeze = Math.floor(Math.min(wanted, totalBytes / 8));
  return { freeze, resume: freeze + Math.floor(freeze / 2), ballast: Math.floor(freeze / 2) };
}
