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
} from "../../packages/engine/src/agent/group-snapshot/testing/story.ts";
import { until } from "../../packages/engine/src/testing/agent.ts";
import { Cluster } from "../../packages/engine/src/testing/cluster.ts";
import { GIB } from "../../packages/engine/src/testing/scratch.ts";
import { type Measurement, median, percentile, SHORT, sized } from "./measure.ts";
import { layOut, type StallWriter, startStallWriter } from "./support/stall.ts";

const command = promisify(execFile);
const SIZES = (process.env["MOORING_BENCH_SIZES"] ?? (SHORT ? "2" : "1,2,8,32")).split(",").map(Number);
const ROUNDS = Number(process.env["MOORING_BENCH_ROUNDS"] ?? sized(20, 2));
const NODE = "a";
type PoolKind = "xfs" | "btrfs";

/** `MOORING_BENCH_POOL=btrfs,xfs,fragmented`: the last is xfs with images in `MOORING_BENCH_FRAGMENTS` pieces. */
const POOLS = (process.env["MOORING_BENCH_POOL"] ?? "btrfs,xfs").split(",");
const FRAGMENTS = Number(process.env["MOORING_BENCH_FRAGMENTS"] ?? "20000");
const BLOCK = 4096;

/** One cut: how long it kept writers still by its own account, and the longest wait that the writer saw meanwhile. */
interface Cut {
  barrier: number;
  stall: number;
}

/** The same cut by hand, with a script's tools; as ours, it ends with an image of its own per volume, on disk. */
async function rawCut(cluster: Cluster, pool: PoolKind, volumes: readonly string[]): Promise<number> {
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

async function frozen(cluster: Cluster, volumes: readonly string[], cut: () => Promise<unknown>) {
  const mounts = volumes.map((name) => join(cluster.dir, "mounts", name));
  const start = performance.now();
  await Promise.all(mounts.map((mount) => command("fsfreeze", ["--freeze", mount])));
  await cut();
  await Promise.all(mounts.map((mount) => command("fsfreeze", ["--unfreeze", mount])));
  return performance.now() - start;
}

async function snapshotted(images: string, folder: string, extract: (folder: string) => Promise<unknown>) {
  const start = performance.now();
  await command("btrfs", ["subvolume", "snapshot", "-r", images, folder]);
  const taken = performance.now() - start;
  await extract(folder);
  await command("btrfs", ["subvolume", "delete", folder]);
  return taken;
}

async function ourCut(cluster: Cluster, pool: PoolKind, volumes: readonly string[]): Promise<number> {
  const { store } = cluster;
  await store.create(GroupSnapshots, groupObject("g-1", volumes, { pool, deadlineSeconds: 60 }));
  const ended = ({ status }: GroupSnapshot): boolean => ["ready", "failed"].includes(status?.state ?? "");
  const { status } = await until(store, GroupSnapshots, "g-1", ended);
  if (status?.state !== "ready") throw new Error(JSON.stringify(status?.error));
  return status.barrier?.pauseMilliseconds ?? Number.NaN;
}

/** Ours and by hand in turn, so that whatever else the machine does hits both. */
async function measure(cluster: Cluster, writer: StallWriter, pool: PoolKind, volumes: readonly string[]) {
  const [raw, ours]: [Cut[], Cut[]] = [[], []];
  const once = async (cut: () => Promise<number>): Promise<Cut> => {
    await writer.longest();
    const barrier = await cut();
    return { barrier, stall: await writer.longest() };
  };
  for (let round = 0; round < ROUNDS; round++) {
    raw.push(await once(() => rawCut(cluster, pool, volumes)));
    ours.push(await once(() => ourCut(cluster, pool, volumes)));
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

function figures(pool: string, count: number, raw: readonly Cut[], ours: readonly Cut[]): Measurement[] {
  const stalls = [raw, ours].map((cuts) => cuts.map(({ stall }) => stall));
  const barriers = [raw, ours].map((cuts) => cuts.map(({ barrier }) => barrier));
  const entry = (what: string, of: number[][], figure: (values: number[]) => number): Measurement => ({
    name: `group of ${count} on ${pool}: ${what}`,
    unit: "ms",
    value: figure(of[1] ?? []),
    baseline: figure(of[0] ?? []),
    baselineName: "raw commands",
  });
  return [
    entry("pause seen by writers, median", stalls, median),
    entry("pause seen by writers, p99", stalls, (values) => percentile(values, 0.99)),
    entry("pause seen by writers, max", stalls, (values) => Math.max(...values)),
    entry("time to cut, median", barriers, median),
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
    // From the last to the first: the folder goes when nobody uses it.
    for (const work of undo.reverse()) await work();
  }
  return all;
}

/** Pause and time of group snapshots under a synchronous writer, beside raw commands doing the same cut. */
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
