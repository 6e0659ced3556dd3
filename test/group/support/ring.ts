import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { eventually } from "@mooring/store/testing";
import { build } from "esbuild";
import { ControlGroup } from "./control-group.ts";

const run = promisify(execFile);

/** N writers in a ring: each writes its volume when the one before has written the same record durably. */
export interface Ring {
  /** The last record that is durable on all volumes, as far as this process has recorded. */
  acknowledged(): number;
  /** Waits until so many more records are on all volumes. */
  advance(records: number): Promise<void>;
  /** Ends the writers. */
  stop(): Promise<void>;
}

/** Where a writer writes, and on which node. */
export interface Place {
  path: string;
  node: string;
}

/**
 * Starts one process per place, those of a node in a control group of their own: what a workload is on a node. `after`: the
 * last record that is on all volumes already.
 */
export async function startRing(places: readonly Place[], after = 0): Promise<Ring> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-ring-"));
  const groups = new Map<string, ControlGroup>();
  for (const { node } of places) groups.set(node, groups.get(node) ?? (await ControlGroup.create()));
  const fifos = places.map((_, index) => join(folder, `fifo-${index}`));
  const last = join(folder, "fifo-last");
  await run("mkfifo", [...fifos, last]);
  const script = await bundleWriter(folder);
  const children = places.map(({ path }, index) => {
    const wires = [fifos[index] ?? "", fifos[index + 1] ?? last];
    const args = [script, path, String(index), ...wires];
    return spawn(process.execPath, args, { stdio: ["ignore", "inherit", "inherit"] });
  });
  let acknowledged = after;
  let stopping = false;
  const close = await drive([fifos[0] ?? "", last], after, (sequence) => {
    acknowledged = sequence;
    return !stopping;
  });
  const stop = async (): Promise<void> => {
    stopping = true;
    await Promise.all(children.map(end));
    await close();
    for (const group of groups.values()) await group.remove();
    await rm(folder, { recursive: true, force: true });
  };
  const advance = (records: number): Promise<void> => {
    const goal = acknowledged + records;
    return eventually(`${records} more records`, async () => {
      const dead = children.find(({ exitCode, signalCode }) => exitCode !== null || signalCode !== null);
      if (dead !== undefined) throw new Error("a writer has ended");
      return acknowledged >= goal;
    }).then(() => {});
  };
  try {
    for (const [index, { node }] of places.entries()) await groups.get(node)?.add(children[index]?.pid ?? 0);
    await advance(1);
  } catch (error) {
    await stop();
    throw error;
  }
  return { acknowledged: () => acknowledged, advance, stop };
}

/** Sends record after record through the ring, the one after `after` first; returns how to close it. */
async function drive(
  [first, last]: readonly [string, string],
  after: number,
  onAcknowledged: (sequence: number) => boolean,
): Promise<() => Promise<void>> {
  const into = await open(first, "r+");
  const back = await open(last, "r+");
  const token = Buffer.alloc(4);
  let over = false;
  const turning = (async () => {
    for (let sequence = after + 1; !over; sequence += 1) {
      token.writeUInt32LE(sequence);
      await into.write(token);
      await back.read(token, 0, token.length);
      if (over || !onAcknowledged(token.readUInt32LE(0))) return;
    }
  })();
  return async () => {
    over = true;
    // Its own token lets a read that waits for a dead writer come back.
    await back.write(token);
    await turning;
    await into.close();
    await back.close();
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

/** One file, which starts several times faster than the source. */
async function bundleWriter(folder: string): Promise<string> {
  const outfile = join(folder, "writer.mjs");
  const entry = fileURLToPath(new URL("writer.ts", import.meta.url));
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    logLevel: "error",
  });
  return outfile;
}
