import { mkdtemp, readdir, realpath, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { Host } from "../host/host.ts";
import { shareLayout } from "../node/share/layout.ts";
import { endServer } from "../node/share/server.ts";
import { isImageId } from "../pools/image-id.ts";
import { endExports } from "../pools/rbd/export-servers.ts";

/** For processes that were asked to end and have not closed their files yet. */
const PATIENCE_MS = 3_000;

/** What a test offers; a benchmark may offer it as well. */
export type Hooks = { after(undo: () => unknown): void };

/** A folder for one test. After it, every mount below is unmounted, every loop device of a file below detached. */
export async function scratch(t: Hooks, host: Host): Promise<string> {
  if (process.getuid?.() !== 0) throw new Error("this test needs root: it mounts real file systems");
  const dir = await realpath(await mkdtemp(join(tmpdir(), "mooring-engine-")));
  t.after(() => cleanUp(host, dir));
  return dir;
}

export async function cleanUp(host: Host, dir: string): Promise<void> {
  const below = (path: string): boolean => path.startsWith(`${dir}/`);
  await endServers(host, join(dir, "state"));
  // Volumes on pools on loops, from the top down; and what a process that is just ending still has open is closed
  // a moment later.
  const deadline = Date.now() + PATIENCE_MS;
  for (let left = true, round = 0; left && (round < 4 || Date.now() < deadline); round++) {
    if (round > 0) await setTimeout(Math.min(round, 10) * 10);
    const devices = (await host.loops.list()).filter((loop) => below(loop.backingFile));
    const paths = new Set(devices.map(({ path }) => path));
    const mounts = (await host.mounts.list()).filter((m) => below(m.target) || paths.has(m.source));
    for (const entry of mounts.reverse()) await host.exec.try("umount", [entry.target]);
    for (const device of devices) await host.loops.detach(device, { lastUser: true }).catch(() => {});
    left = devices.length + mounts.length > 0;
  }
  // A process that copied this machine's mounts keeps ours busy in a way that we cannot end: not our folder any more.
  const mounts = (await host.mounts.list()).filter((m) => below(m.target));
  for (const { target } of mounts.reverse()) await host.exec.try("umount", ["--lazy", target]);
  await endExports(dir);
  await rm(dir, { recursive: true, force: true });
}

/** Servers of shared volumes outlive their agent, on purpose. */
export async function endServers(host: Host, stateDir: string): Promise<void> {
  for (const name of (await readdir(join(stateDir, "shares")).catch(() => [])).filter(isImageId)) {
    await endServer(shareLayout(stateDir, name), host.clock);
  }
}

/** A sparse file of zeros. */
export async function sparse(path: string, size: number): Promise<string> {
  await writeFile(path, "");
  await truncate(path, size);
  return path;
}

export const MIB: number = 1024 ** 2;
export const GIB: number = 1024 ** 3;
