import type { PoolType } from "@mooring/engine";
import { currentPart, sample } from "@mooring/store/testing";
import type { Access } from "./volume-set.ts";

/** `mixed`: every node has mounted and raw members in turn, as of a database whose log is on a raw device. */
export type RowAccess = Access | "mixed";

/** One row of the proof: so many volumes of a kind, on one node or on two in turn. */
export interface Row {
  pool: PoolType;
  access: RowAccess;
  volumes: number;
  twoNodes: boolean;
  /** `longest`: how busy the machine is decides nothing. `default`: what users get who say nothing. */
  deadline: "longest" | "default";
}

export const POOLS: readonly PoolType[] = ["xfs", "btrfs"];
const ACCESS: readonly RowAccess[] = ["mount", "block", "mixed"];
const deep = currentPart() === "deep";
const pattern = process.env["MOORING_GROUP_ROWS"];
/** Rows that are asked for by name are asked for whole. */
const whole = deep || pattern !== undefined;

/** What `MOORING_GROUP_ROWS` is matched with: `xfs, block, 32` or `two nodes, btrfs, mount, 8`. */
export function titleOf({ pool, access, volumes, twoNodes, deadline }: Row): string {
  const end = deadline === "default" ? ", default deadline" : "";
  return `${twoNodes ? "two nodes, " : ""}${pool}, ${access}, ${volumes}${end}`;
}

/** The rows of this run on a kind of pool: every day one of all pools together. */
export function rowsOf(pool: PoolType, twoNodes: boolean): readonly Row[] {
  const rows = POOLS.flatMap((each) => rowsOn(each, twoNodes));
  const chosen =
    pattern === undefined
      ? sample(rows, { everyday: 1 })
      : rows.filter((row) => new RegExp(pattern).test(titleOf(row)));
  return chosen.filter((row) => row.pool === pool);
}

function rowsOn(pool: PoolType, twoNodes: boolean): Row[] {
  const rows = ACCESS.flatMap((access) =>
    countsOf(access, twoNodes).map(
      (volumes): Row => ({ pool, access, volumes, twoNodes, deadline: "longest" }),
    ),
  );
  // How busy the machine is decides about these, so they have it to themselves: not every day.
  if (!twoNodes && currentPart() !== "everyday")
    rows.push({ pool, access: "mount", volumes: 8, twoNodes, deadline: "default" });
  return rows;
}

/** Fewer than four are not mixed on each of two nodes. */
function countsOf(access: RowAccess, twoNodes: boolean): number[] {
  if (access === "mixed") return whole ? [4, 8, 32] : [4];
  if (whole) return [2, 8, 32];
  // Eight mounted ones on one node have the default deadline there.
  return twoNodes || access === "mount" ? [2] : [2, 8];
}

/** How the volume at this place of a row is used, where volumes go to so many nodes in turn. */
export function accessAt(access: RowAccess, index: number, nodes: number): Access {
  if (access !== "mixed") return access;
  return Math.floor(index / nodes) % 2 === 0 ? "mount" : "block";
}

/** How many group snapshots of a row: `MOORING_GROUP_SNAPSHOTS`, else 200 of a whole row. */
export function snapshotsOf({ volumes }: Row): number {
  const wished = process.env["MOORING_GROUP_SNAPSHOTS"];
  if (wished !== undefined) return Number(wished);
  if (whole) return 200;
  return volumes === 2 && currentPart() !== "everyday" ? 3 : 2;
}

/** Every so many sets one is restored as a user does it; the others are read where they are. */
export const RESTORE_EVERY = whole ? 10 : currentPart() === "everyday" ? 2 : 1;

/** `MOORING_GROUP_UNTIL`: a time as `Date.parse` takes it, after which no further set is begun. */
export function timeIsUp(): boolean {
  const until = process.env["MOORING_GROUP_UNTIL"];
  if (until === undefined) return false;
  const time = Date.parse(until);
  if (Number.isNaN(time)) throw new Error(`MOORING_GROUP_UNTIL: "${until}" is no time`);
  return Date.now() >= time;
}
