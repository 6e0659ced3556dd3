import assert from "node:assert/strict";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createHost } from "../../../host/create-host.ts";
import { type Hooks, MIB, scratch, sparse } from "../../../testing/scratch.ts";

export const host = createHost();

/** A file system to freeze, and a state folder. */
export async function setUp(t: Hooks): Promise<{ mount: string; state: string }> {
  const dir = await scratch(t, host);
  const mount = join(dir, "mount");
  await mkdir(mount);
  const image = await sparse(join(dir, "image"), 32 * MIB);
  await host.exec.run("mkfs.ext4", ["-q", image]);
  await host.exec.run("mount", ["-o", "loop", image, mount]);
  return { mount, state: join(dir, "state") };
}

export const notes = (state: string): Promise<string[]> => readdir(join(state, "freezes"));

/** Whether it was; lets everybody go on. */
export async function wasFrozen(mount: string): Promise<boolean> {
  return (await host.exec.try("fsfreeze", ["--unfreeze", mount])).exitCode === 0;
}

/** Processes that keep this path frozen. */
export async function freezers(path: string): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const args = (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).split("\0");
      return args.includes("mooring-freeze") && args.includes(path) ? Number(pid) : 0;
    }),
  );
  return found.filter((pid) => pid !== 0);
}

/** The group of processes that all processes of one freeze are in. */
export async function sessionOf(mount: string): Promise<number> {
  const [first = 0] = await freezers(mount);
  assert.ok(first > 0);
  return Number((await host.exec.run("ps", ["-o", "pgid=", "-p", String(first)])).stdout.trim());
}
