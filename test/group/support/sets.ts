const deep = process.env["MOORING_DEEP"] === "1";

/** How many group snapshots of how many volumes. */
export type Sets = readonly (readonly [volumes: number, snapshots: number])[];

/** `MOORING_GROUP_SNAPSHOTS` makes a deep run shorter or longer. */
const ALL: Sets = [2, 8, 32].map((volumes) => [
  volumes,
  Number(process.env["MOORING_GROUP_SNAPSHOTS"] ?? 200),
]);

export const ONE_NODE: Sets = deep
  ? ALL
  : [
      [2, 3],
      [8, 2],
    ];
export const TWO_NODES: Sets = deep ? ALL : [[2, 2]];
