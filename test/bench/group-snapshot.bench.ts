import { execFile } from "node:child_process";
import { mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { type GroupSnapshot, GroupSnapshots } from "@mooring/engine";
import { bundleProgram } from "@mooring/store/testing";
import {
  gone,
  groupObject,
  mountVolume,
  unmountVolume,
} from "../../packages/engine/src/node/group-snapshot/testing/story.ts";
import { until } from "../../packages/engine/src/testing/agent.ts";
import { Cluster } from "../../packages/engine/src/testing/cluster.ts";
import { GIB } from "../../packages/engine/src/testing/scratch.ts";
import { type Measurement, median, percentile, SHORT, sized } from "./measure.ts";
import { layOut, longestIn, type Span, type StallWriter, startStallWriter } from "./support/stall.ts";

const command = promisify(execFile);
const SIZES = (process.env["MOORING_BENCH_SIZES"] ?? (SHORT ? "2" : "1,2,8,32")).split(",").map(Number);
const ROUNDS = Number(process.env["MOORING_BENCH_ROUNDS"] ?? sized(20, 2));
const NODE = "a";
type PoolKind = "xfs" | "btrfs";

/** `MOORING_BENCH_POOL=btrfs,xfs,fragmented`: the last is xfs with images in `MOORING_BENCH_FRAGMENTS` pieces. */
const POOLS = (process.env["MOORING_BENCH_POOL"] ?? "btrfs,xfs").split(",");
const FRAGMENTS = Number(process.env["MOORING_BENCH_FRAGMENTS"] ?? "20000");
const BLOCK = 4096;

/** One group snapshot, in milliseconds. */
interface Times {
  /** From the first writer that is kept still to the last one that goes on; by its own account. */
  barrier: number;
  /** The longest write that met the barrier. */
  pause: number;
  /** The longest write until the images are on disk: what is written after the barrier costs writers something too. */
  wait: number;
}

/** The same copies by hand, with a script's tools; as ours, it ends with an image of its own per volume, on disk. */
async function rawSnapshot(cluster: Cluster, pool: PoolKind, volumes: readonly string[]): Promise<Span> {
  const images = join(cluster.image("v-0", pool), "..");
  const raw = join(images, "..", "raw");
  await mkdir(raw, { recursive: true });
  // btrfs clones within its kind of files only.
  if (pool === "btrfs") await command("chattr", ["+C", raw]);
  const clone = (from: string, name: string) =>
    command("cp", ["--reflink=always", join(from, `${name}.img`), join(raw, name)]);
  const taken = await (pool === "xfs"
    ? frozen(cluster, volumes, () => Promise.all(volumes.map((name) => clone(images, name))))
    : snapshotted(images, join(images, "..", "raw-cut"), async (folder) => {
        for (const name of volumes) await clone(folder, name);
      }));
  await command("sync", ["--file-system", raw]);
  await rm(raw, { recursive: true });
  return taken;
}

async function frozen(
  cluster: Cluster,
  volumes: readonly string[],
  take: () => Promise<unknown>,
): Promise<Span> {
  const mounts = volumes.map((name) => join(cluster.dir, "mounts", name));
  const start = now();
  await Promise.all(mounts.map((mount) => command("fsfreeze", ["--freeze", mount])));
  await take();
  await Promise.all(mounts.map((mount) => command("fsfreeze", ["--unfreeze", mount])));
  return { start, end: now() };
}

async function snapshotted(
  images: string,
  folder: string,
  extract: (folder: string) => Promise<unknown>,
): Promise<Span> {
  const start = now();
  await command("btrfs", ["subvolume", "snapshot", "-r", images, folder]);
  const end = now();
  await extract(folder);
  await command("btrfs", ["subvolume", "delete", folder]);
  return { start, end };
}

/** Milliseconds since 1970, finer than `Date.now`. */
function now(): number {
  return performance.timeOrigin + performance.now();
}

async function ourSnapshot(cluster: Cluster, pool: PoolKind, volumes: readonly string[]): Promise<Span> {
  const { store } = cluster;
  await store.create(GroupSnapshots, groupObject("g-1", volumes, { pool, deadlineSeconds: 60 }));
  const ended = ({ status }: GroupSnapshot): boolean => ["ready", "failed"].includes(status?.state ?? "");
  const { status } = await until(store, GroupSnapshots, "g-1", ended);
  if (status?.state !== "ready") throw new Error(JSON.stringify(status?.error));
  const { startTime = "", pauseMilliseconds = Number.NaN } = status.barrier ?? {};
  const start = Date.parse(startTime);
  return { start, end: start + pauseMilliseconds };
}

/** Ours and by hand in turn, so that whatever else the machine does hits both. */
async function measure(cluster: Cluster, writer: StallWriter, pool: PoolKind, volumes: readonly string[]) {
  const [raw, ours]: [Times[], Times[]] = [[], []];
  const once = async (take: () => Promise<Span>): Promise<Times> => {
    await writer.writes();
    const barrier = await take();
    const writes = await writer.writes();
    // Ours is recorded as beginning at a whole millisecond.
    const pause = longestIn(writes, { ...barrier, end: barrier.end + 1 });
    const wait = longestIn(writes, { start: 0, end: Number.POSITIVE_INFINITY });
    return { barrier: barrier.end - barrier.start, pause, wait };
  };
  for (let round = 0; round < ROUNDS; round++) {
    raw.push(await once(() => rawSnapshot(cluster, pool, volumes)));
    ours.push(await once(() => ourSnapshot(cluster, pool, volumes)));
    await gone(cluster.store, GroupSnapshots, "g-1");
  }
  return { raw, ours };
}

/** Every other block has data; the volume has no file system yet. */
async function fragment(image: string): Promise<void> {
  const handle = await open(image, "r+");
  const block = Buffer.alloc(BLOCK);
  for (let piece = 0; piece < FRAGMENTS; piece++) await handle.write(block, 0, BLOCK, 2 * piece * BLOCK);
  await handle.sync();
  await handle.close();
}

function figures(pool: string, count: number, raw: readonly Times[], ours: readonly Times[]): Measurement[] {
  const entry = (what: string, field: keyof Times, figure: (values: number[]) => number): Measurement => ({
    name: `group of ${count} on ${pool}: ${what}`,
    unit: "ms",
    value: figure(ours.map((take) => take[field])),
    baseline: figure(raw.map((take) => take[field])),
    baselineName: "raw commands",
  });
  const p99 = (values: number[]): number => percentile(values, 0.99);
  const max = (values: number[]): number => Math.max(...values);
  return [
    entry("pause seen by writers, median", "pause", median),
    entry("pause seen by writers, p99", "pause", p99),
    entry("pause seen by writers, max", "pause", max),
    entry("longest write until all is on disk, median", "wait", median),
    entry("longest write until all is on disk, max", "wait", max),
    entry("time to copy, median", "barrier", median),
  ];
}

async function runPool(kind: string, program: string): Promise<Measurement[]> {
  const fragmented = kind === "fragmented";
  const pool: PoolKind = kind === "btrfs" ? "btrfs" : "xfs";
  const undo: (() => unknown)[] = [];
  const all: Measurement[] = [];
  try {
    const hooks = { after: (work: () => unknown) => void undo.push(work) };
    const cluster = await Cluster.open(hooks, [{ name: pool, type: pool, node: NODE, size: 32 * GIB }]);
    const volumes: string[] = [];
    hooks.after(async () => {
      for (const name of volumes) await unmountVolume(cluster, name);
    });
    const files: string[] = [];
    for (const count of SIZES) {
      while (volumes.length < count) {
        const name = `v-${volumes.length}`;
        await cluster.volume(name, pool, fragmented ? { size: (2 * FRAGMENTS + 65_536) * BLOCK } : {});
        if (fragmented) await fragment(cluster.image(name, pool));
        const file = join(await mountVolume(cluster, name, NODE), "load");
        await layOut(file);
        volumes.push(name);
        files.push(file);
      }
      process.stderr.write(`  ${kind}, ${count} volumes ...\n`);
      const writer = await startStallWriter(program, files);
      try {
        const { raw, ours } = await measure(cluster, writer, pool, volumes);
        all.push(...figures(kind, count, raw, ours));
      } finally {
        await writer.stop();
      }
    }
  } finally {
    // From the last to the first: the folder goes when nothing uses it.
    for (const work of undo.reverse()) await work();
  }
  return all;
}

/** Stall and time of group snapshots under a synchronous writer, beside raw commands making the same copies. */
export async function run(): Promise<Measurement[]> {
  const program = await bundleProgram(new URL("./support/stall-writer.ts", import.meta.url));
  try {
    const all: Measurement[] = [];
    for (const pool of POOLS) all.push(...(await runPool(pool, program.path)));
    return all;
  } finally {
    await program.remove();
  }
}
