const deep = process.env["MOORING_DEEP"] === "1";

/** How many group snapshots of how many volumes; `MOORING_GROUP_SNAPSHOTS` makes a deep run shorter or longer. */
export const SETS: readonly (readonly [volumes: number, snapshots: number])[] = deep
  ? [2, 8, 32].map((volumes) => [volumes, Number(process.env["MOORING_GROUP_SNAPSHOTS"] ?? 200)])
  : [
      [2, 3],
      [8, 2],
    ];
