import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { eventually } from "@mooring/store/testing";
import type { Host } from "../../../host/host.ts";
import { keepersOf } from "../../../testing/keepers.ts";
import { type Hooks, MIB, scratch } from "../../../testing/scratch.ts";
import type { PoolBackend } from "../../backend.ts";
import { createPool } from "../../create-pool.ts";
import { poolLayout } from "../../layout.ts";
import { keptPool } from "../kept-pool.ts";
import type { Fill } from "./rows.ts";
import { WRITER_PROGRAM } from "./writer-program.ts";

const POOL = 512 * MIB;
const VICTIM_MIB = 150;
/** More than fits; after something of VICTIM_MIB has gone, or the pool has grown, it fits. */
const WRITTEN_MIB = { grow: 440, "remove-volume": 190, "remove-snapshot": 190 } as const;
interface Scene {
  host: Host;
  fill: Fill;
  dir: string;
  folder: string;
  pool: PoolBackend;
  /** MiB that each writer writes. */
  count: number;
}

/** Fills a pool as the row describes. Fails when a write fails, a byte is lost or differs, or a writer never ends. */
export async function runFill(t: Hooks, host: Host, fill: Fill): Promise<void> {
  const scene = await open(t, host, fill, keptPool);
  const { pool } = scene;
  if (fill.room !== "grow") await makeVictim(scene);
  const ids = idsOf(fill);
  const writes: Promise<void>[] = [];
  for (const id of ids) {
    await pool.create(id, 800 * MIB);
    const target = await attach(scene, id, true);
    writes.push(write(scene, id, target));
  }
  await eventually("the writers to be frozen", () => pool.writersSuspended());
  await killKeepers(scene);
  // The first freeze writes out what is in flight, which may show more room than there seemed to be: they go on once more.
  await eventually("nothing new to be taken", async () => {
    const refusal = await pool.create("v-more", MIB).then(
      () => pool.remove("v-more"),
      (error: unknown) => error,
    );
    return /writers are suspended/.test(String(refusal));
  });
  await makeRoom(scene);
  for (const one of writes) await within(one, "a writer to end");
  for (const id of ids) {
    await detach(scene, id);
    const again = await attach(scene, id, false);
    await host.exec.run("perl", ["-e", WRITER_PROGRAM, "check", again, String(scene.count), "lazy"]);
    await detach(scene, id);
  }
  await eventually("the writers to go on", async () => !(await pool.writersSuspended()));
  await pool.close();
}

/** More than the pool has. */
const TOO_MUCH_MIB = 600;

/**
 * Fills a pool that suspends no writer. Fails when a byte is lost that was synced (on a raw device: written past the page
 * cache), or when a writer that lost something could not learn of it: from its own call, or from what the pool says it has
 * left.
 */
export async function runDefaultFill(t: Hooks, host: Host, fill: Fill): Promise<void> {
  const whole = await open(t, host, fill, (pool) => pool);
  const { pool } = whole;
  const scene = { ...whole, count: Math.floor(TOO_MUCH_MIB / fill.volumes) };
  if (fill.room !== "grow") await makeVictim(scene);
  const ids = idsOf(fill);
  const targets: [string, string][] = [];
  for (const id of ids) {
    await pool.create(id, 800 * MIB);
    targets.push([id, await attach(scene, id, true)]);
  }
  const written = await Promise.all(targets.map(([id, target]) => writtenUntilFailure(scene, id, target)));
  await eventually(
    "the pool to say that nothing is left",
    async () => (await pool.usage()).freeBytes < 4 * MIB,
  );
  if (fill.writer !== "lazy")
    assert.ok(
      written.some((mib) => mib < scene.count),
      "no write failed",
    );
  await makeRoom(scene);
  const isSynced = fill.writer === "synced" || (fill.writer === "direct" && fill.on === "raw");
  for (const [index, id] of ids.entries()) {
    await detach(scene, id);
    const again = await attach(scene, id, false);
    const kept = isSynced ? (written[index] ?? 0) : 0;
    await host.exec.run("perl", ["-e", WRITER_PROGRAM, "check", again, String(kept), "lazy"]);
    await detach(scene, id);
  }
  await pool.close();
}

/** MiB that a writer has written before a call of it failed; all of them when none did. */
async function writtenUntilFailure(scene: Scene, id: string, target: string): Promise<number> {
  const refusal = await write(scene, id, target).then(
    () => "",
    (error: unknown) => String(error),
  );
  const failed = /of MiB (\d+)/.exec(refusal)?.[1];
  return failed === undefined ? scene.count : Number(failed);
}

function idsOf({ volumes }: Fill): string[] {
  return Array.from({ length: volumes }, (_, index) => `v-fill-${index}`);
}

async function open(t: Hooks, host: Host, fill: Fill, kept: typeof keptPool): Promise<Scene> {
  const undo: (() => Promise<unknown>)[] = [];
  t.after(async () => {
    for (const one of undo) await one();
  });
  const dir = await scratch(t, host);
  const folder = join(dir, "pool");
  const layout = poolLayout(fill.pool, folder);
  const pool = kept(createPool(fill.pool, { host, path: folder, size: POOL, overcommit: 10 }), host, layout);
  undo.push(() => thaw(host, folder));
  await pool.open();
  return { host, fill, dir, folder, pool, count: Math.floor(WRITTEN_MIB[fill.room] / fill.volumes) };
}

async function within(work: Promise<void>, what: string): Promise<void> {
  let ended = false;
  const end = work.finally(() => {
    ended = true;
  });
  end.catch(() => {});
  await eventually(what, async () => ended);
  await end;
}

/** When a row has failed, nothing of it stays frozen. */
async function thaw(host: Host, folder: string): Promise<void> {
  for (const pid of await keepersOf(folder)) killIfThere(pid);
  const mount = join(folder, "mnt");
  if ((await host.mounts.at(mount)).length > 0) await host.exec.try("fsfreeze", ["--unfreeze", mount]);
}

async function makeVictim({ host, pool, fill }: Scene): Promise<void> {
  const { path } = await pool.create("v-victim", VICTIM_MIB * MIB);
  const args = ["if=/dev/zero", `of=${path}`, "bs=1M", `count=${VICTIM_MIB}`, "oflag=direct", "conv=notrunc"];
  await host.exec.run("dd", args);
  if (fill.room !== "remove-snapshot") return;
  await pool.clone("v-victim", "s-victim", VICTIM_MIB * MIB);
  await pool.remove("v-victim");
}

/** The file or device to write to. */
async function attach({ host, fill, pool, dir }: Scene, id: string, first: boolean): Promise<string> {
  const image = await pool.find(id);
  const device = (await host.loops.attach(image?.path ?? "")).path;
  if (fill.on === "raw") return device;
  if (first && fill.on === "ext4") await host.exec.run("mkfs.ext4", ["-q", "-E", "nodiscard", device]);
  if (first && fill.on === "xfs") await host.exec.run("mkfs.xfs", ["-q", "-K", device]);
  const mount = join(dir, id);
  await mkdir(mount, { recursive: true });
  await host.mounts.mount({ source: device, target: mount, fsType: fill.on });
  return join(mount, "file");
}

async function detach({ host, fill, pool, dir }: Scene, id: string): Promise<void> {
  const image = await pool.find(id);
  const loop = await host.loops.find(image?.path ?? "");
  if (fill.on !== "raw") await host.mounts.unmount(join(dir, id));
  else if (loop !== undefined) await host.exec.run("blockdev", ["--flushbufs", loop.path]);
  const left = await host.loops.find(image?.path ?? "");
  if (left === undefined) return;
  // Processes that copied this machine's mounts have it mounted, until they end.
  await eventually("the device to be free", async () => {
    const busy = await host.loops.detach(left).catch((error: unknown) => error);
    return busy === undefined;
  });
}

/** Resolves when all is written, and on disk where the row says so. */
function write({ fill, count, dir }: Scene, id: string, target: string): Promise<void> {
  const perl = ["perl", "-e", WRITER_PROGRAM, "write", target, String(count), fill.writer];
  const apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child"];
  const [file = "", ...args] = fill.user === "apart" ? [...apart, ...perl] : perl;
  const child = spawn(file, args, { stdio: ["ignore", "ignore", "pipe"] });
  let output = "";
  child.stderr?.on("data", (text: Buffer) => {
    output += text.toString();
  });
  const ended = once(child, "close").then(async ([code]) => {
    assert.equal(code, 0, `the writer failed: ${output}`);
    // What no writer syncs would stay in memory for half a minute.
    if (fill.writer === "lazy" && fill.on !== "raw") await syncOne(join(dir, id));
  });
  ended.catch(() => {});
  return ended;
}

async function syncOne(mount: string): Promise<void> {
  const [code] = await once(spawn("sync", ["--file-system", mount]), "exit");
  assert.equal(code, 0, "sync failed");
}

async function killKeepers({ fill, folder, pool }: Scene): Promise<void> {
  if (fill.kill === "nothing") return;
  const state = await readFile(join(folder, "keeper.state"), "utf8");
  const worker = Number(state.split(" ")[1]);
  if (fill.kill === "keeper") process.kill(worker, "SIGKILL");
  else {
    // The second one may have taken over and started another between two kills.
    await eventually("the keepers to end", async () => {
      const left = await keepersOf(folder);
      for (const pid of left) killIfThere(pid);
      return left.length === 0;
    });
    // The agent's part, which reads every second.
    await pool.watch();
  }
  await eventually("another keeper to go on", async () => {
    const now = await readFile(join(folder, "keeper.state"), "utf8");
    return Number(now.split(" ")[1]) !== worker && (await pool.writersSuspended());
  });
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

async function makeRoom({ fill, pool }: Scene): Promise<void> {
  if (fill.room === "grow") await pool.enlarge(2 * POOL);
  else await pool.remove(fill.room === "remove-volume" ? "v-victim" : "s-victim");
}
