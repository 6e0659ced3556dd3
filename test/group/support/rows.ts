import type { PoolType } from "@mooring/engine";
import type { Access } from "./volume-set.ts";

/** One row of the proof: so many volumes of a kind, on one node or on two in turn. */
export interface Row {
  pool: PoolType;
  access: Access;
  volumes: number;
  twoNodes: boolean;
}

export const POOLS: readonly PoolType[] = ["xfs", "btrfs"];
const ACCESS: readonly Access[] = ["mount", "block"];
const deep = process.env["MOORING_DEEP"] === "1";
const pattern = process.env["MOORING_GROUP_ROWS"];
/** Rows that are asked for by name are asked for whole. */
const whole = deep || pattern !== undefined;

/** What `MOORING_GROUP_ROWS` is matched with: `xfs, block, 32` or `two nodes, btrfs, mount, 8`. */
export function titleOf({ pool, access, volumes, twoNodes }: Row): string {
  return `${twoNodes ? "two nodes, " : ""}${pool}, ${access}, ${volumes}`;
}

/** The rows of this run on a kind of pool. */
export function rowsOf(pool: PoolType, twoNodes: boolean): Row[] {
  const short = twoNodes ? [2] : [2, 8];
  const counts = whole ? [2, 8, 32] : short;
  const rows = ACCESS.flatMap((access) =>
    counts.map((volumes): Row => ({ pool, access, volumes, twoNodes })),
  );
  return rows.filter((row) => pattern === undefined || new RegExp(pattern).test(titleOf(row)));
}

/** How many group snapshots of a row: `MOORING_GROUP_SNAPSHOTS`, else 200 of a whole row. */
export function snapshotsOf({ volumes }: Row): number {
  const wished = process.env["MOORING_GROUP_SNAPSHOTS"];
  if (wished !== undefined) return Number(wished);
  if (whole) return 200;
  return volumes === 2 ? 3 : 2;
}

/** Every so many sets one is restored as a user does it; the others are looked at where they are. */
export const RESTORE_EVERY = whole ? 10 : 1;

/** `MOORING_GROUP_UNTIL`: a time as `Date.parse` takes it, after which no further set is begun. */
export function timeIsUp(): boolean {
  const until = process.env["MOORING_GROUP_UNTIL"];
  if (until === undefined) return false;
  const time = Date.parse(until);
  if (Number.isNaN(time)) throw new Error(`MOORING_GROUP_UNTIL: "${until}" is no time`);
  return Date.now() >= time;
}
