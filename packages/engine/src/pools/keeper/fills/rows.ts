/** One way to fill a pool, and what makes room again. A further one is a line. */
export interface Fill {
  pool: "xfs" | "btrfs";
  /** What is in the volume; `raw`: the writer has the device itself. */
  on: "ext4" | "xfs" | "raw";
  /** `synced`: fsync(2) after each MiB. `lazy`: only what closes the volume syncs. `direct`: past the page cache. */
  writer: "synced" | "lazy" | "direct";
  /** `apart`: in namespaces of its own, as a pod is. */
  user: "bare" | "apart";
  /** What is killed (kill -9) while the writer is frozen. */
  kill: "nothing" | "keeper" | "both";
  room: "grow" | "remove-volume" | "remove-snapshot";
  /** How many are written to at once. */
  volumes: number;
}

const ROWS = `
xfs   ext4 synced bare  nothing grow
xfs   ext4 lazy   bare  nothing grow
xfs   ext4 direct bare  nothing grow
xfs   ext4 synced apart keeper  grow
xfs   ext4 lazy   apart keeper  grow
xfs   ext4 direct apart keeper  grow
xfs   ext4 synced bare  both    grow
xfs   ext4 lazy   bare  both    grow
xfs   ext4 synced bare  nothing remove-volume
xfs   ext4 lazy   bare  nothing remove-volume
xfs   ext4 direct bare  nothing remove-volume
xfs   ext4 synced apart keeper  remove-volume
xfs   ext4 lazy   apart keeper  remove-volume
xfs   ext4 synced apart both    remove-volume
xfs   ext4 synced bare  nothing remove-snapshot
xfs   ext4 lazy   bare  nothing remove-snapshot
xfs   ext4 lazy   apart keeper  remove-snapshot
xfs   xfs  synced bare  nothing grow
xfs   xfs  lazy   bare  nothing grow
xfs   xfs  direct bare  nothing grow
xfs   xfs  synced apart keeper  grow
xfs   xfs  lazy   apart keeper  grow
xfs   xfs  direct apart keeper  grow
xfs   xfs  synced bare  both    grow
xfs   xfs  lazy   bare  both    grow
xfs   xfs  synced bare  nothing remove-volume
xfs   xfs  lazy   bare  nothing remove-volume
xfs   xfs  direct bare  nothing remove-volume
xfs   xfs  synced apart keeper  remove-volume
xfs   xfs  lazy   apart keeper  remove-volume
xfs   xfs  synced apart both    remove-volume
xfs   xfs  synced bare  nothing remove-snapshot
xfs   xfs  lazy   bare  nothing remove-snapshot
xfs   xfs  lazy   apart keeper  remove-snapshot
xfs   raw  synced bare  nothing grow
xfs   raw  lazy   bare  nothing grow
xfs   raw  direct bare  nothing grow
xfs   raw  synced apart keeper  grow
xfs   raw  lazy   apart keeper  grow
xfs   raw  direct apart keeper  grow
xfs   raw  direct bare  both    grow
xfs   raw  lazy   bare  both    grow
xfs   raw  synced bare  nothing remove-volume
xfs   raw  lazy   bare  nothing remove-volume
xfs   raw  direct bare  nothing remove-volume
xfs   raw  direct apart keeper  remove-volume
xfs   raw  direct apart both    remove-volume
xfs   raw  synced bare  nothing remove-snapshot
xfs   raw  lazy   bare  keeper  remove-snapshot
xfs   raw  direct bare  nothing remove-snapshot
xfs   ext4 synced bare  nothing grow            4
xfs   ext4 lazy   bare  nothing grow            4
xfs   raw  direct bare  nothing grow            4
`;

const KINDS = ["pool", "on", "writer", "user", "kill", "room"] as const;

/** Each line on an XFS pool, and once more on a btrfs pool. */
export const FILLS: readonly Fill[] = ["xfs", "btrfs"].flatMap((pool) =>
  ROWS.trim()
    .split("\n")
    .map((line) => {
      const cells = line.split(/ +/);
      const row = Object.fromEntries(KINDS.map((kind, index) => [kind, cells[index]]));
      return { ...row, pool, volumes: Number(cells[KINDS.length] ?? 1) } as Fill;
    }),
);

/** The row as its test is called. */
export function fillName({ pool, on, writer, user, kill, room, volumes }: Fill): string {
  const killed = kill === "nothing" ? "" : `, ${kill} killed`;
  return `${volumes} ${writer} writer, ${user}, on ${on} in ${pool}${killed}, then ${room}`;
}
