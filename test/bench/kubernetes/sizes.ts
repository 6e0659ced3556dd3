import { SHORT, sized } from "../measure.ts";

/** How many of each there are. */
export interface Sizes {
  claims: number;
  snapshots: number;
  groups: number;
}

const CLAIMS = Number(process.env["MOORING_BENCH_CLAIMS"] ?? sized(1_000, 20));
export const SIZES: Sizes = {
  claims: CLAIMS,
  snapshots: sized(Math.ceil(CLAIMS / 5), 5),
  groups: sized(Math.ceil(CLAIMS / 50), 2),
};
/** With the limits that the sidecars have by default, all of it would be half an hour. */
export const FEWER: Sizes = SHORT
  ? SIZES
  : {
      claims: Math.ceil(CLAIMS / 10),
      snapshots: Math.ceil(CLAIMS / 50),
      groups: Math.ceil(CLAIMS / 500),
    };
/** What a large cluster has: nothing of it is to be done, and all of it is read. */
export const LARGE = { volumes: sized(20_000, 40), nodes: sized(200, 4) };
/** Members of a group. */
export const MEMBERS = 8;
export const IN_FLIGHT = 32;
