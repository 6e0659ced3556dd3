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

/** On ext4 and on XFS. */
const MOUNTED = `
synced bare  nothing grow
lazy   bare  nothing grow
direct bare  nothing grow
synced apart keeper  grow
lazy   apart keeper  grow
direct apart keeper  grow
synced bare  both    grow
lazy   bare  both    grow
synced bare  nothing remove-volume
lazy   bare  nothing remove-volume
direct bare  nothing remove-volume
synced apart keeper  remove-volume
lazy   apart keeper  remove-volume
synced apart both    remove-volume
synced bare  nothing remove-snapshot
lazy   bare  nothing remove-snapshot
lazy   apart keeper  remove-snapshot
`;

const RAW = `
synced bare  nothing grow
lazy   bare  nothing grow
direct bare  nothing grow
synced apart keeper  grow
lazy   apart keeper  grow
direct apart keeper  grow
direct bare  both    grow
lazy   bare  both    grow
synced bare  nothing remove-volume
lazy   bare  nothing remove-volume
direct bare  nothing remove-volume
direct apart keeper  remove-volume
direct apart both    remove-volume
synced bare  nothing remove-snapshot
lazy   bare  keeper  remove-snapshot
direct bare  nothing remove-snapshot
`;

const SIMPLEST = { user: "bare", kill: "nothing", room: "grow", volumes: 4 } as const;

const EACH_POOL: readonly Omit<Fill, "pool">[] = [
  ...rows("ext4", MOUNTED),
  ...rows("xfs", MOUNTED),
  ...rows("raw", RAW),
  { ...SIMPLEST, on: "ext4", writer: "synced" },
  { ...SIMPLEST, on: "ext4", writer: "lazy" },
  { ...SIMPLEST, on: "raw", writer: "direct" },
];

/** Each on an XFS pool, and once more on a btrfs pool. */
export const FILLS: readonly Fill[] = (["xfs", "btrfs"] as const).flatMap((pool) =>
  EACH_POOL.map((fill) => ({ ...fill, pool })),
);

function rows(on: Fill["on"], lines: string): Omit<Fill, "pool">[] {
  return lines
    .trim()
    .split("\n")
    .map((line) => {
      const [writer, user, kill, room] = line.split(/ +/);
      return { on, writer, user, kill, room, volumes: 1 } as Omit<Fill, "pool">;
    });
}

/** The row as its test is called. */
export function fillName({ pool, on, writer, user, kill, room, volumes }: Fill): string {
  const killed = kill === "nothing" ? "" : `, ${kill} killed`;
  return `${volumes} ${writer} writer, ${user}, on ${on} in ${pool}${killed}, then ${room}`;
}
