import { utimesSync } from "node:fs";
import { readdir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { describeBytes, diskFull, diskRoom } from "@mooring/store";
import { type Check, check } from "./check.ts";

/** Parts of a disk from which on an operator should know. */
const LEVELS = [
  { from: 0.95, state: "fail" },
  { from: 0.85, state: "warn" },
] as const;

/**
 * The disk below a state folder: on a full one nothing is stored any more, and the sparse files of pools may still grow by
 * more than it has left. No check when the folder is not there yet.
 */
export async function diskChecks(stateDir: string): Promise<Check[]> {
  const disk = await statfs(stateDir).catch(() => undefined);
  if (disk === undefined) return [];
  const free = disk.bavail * disk.bsize;
  return [
    filled(stateDir, free, (disk.blocks - disk.bfree) * disk.bsize),
    ...inodes(stateDir, disk),
    ...(await pools(stateDir, free)),
  ];
}

/** A disk may have room for any number of bytes, and for no further file. One that makes inodes as it needs them has none of its own. */
function inodes(stateDir: string, { files, ffree }: { files: number; ffree: number }): Check[] {
  const part = files === 0 ? 0 : (files - ffree) / files;
  const level = LEVELS.find(({ from }) => part >= from);
  if (level === undefined) return [];
  const detail = `${Math.round(part * 100)} % of its inodes used, ${ffree} free: without one no file can be made`;
  return [check(`inodes of ${stateDir}`, level.state, detail, `remove files there: df -i ${stateDir}`)];
}

/** As `df` counts: what only root may take is in neither part. */
function filled(stateDir: string, free: number, used: number): Check {
  const part = used + free === 0 ? 0 : used / (used + free);
  const state = LEVELS.find(({ from }) => part >= from)?.state ?? "ok";
  const detail = `${Math.round(part * 100)} % used, ${describeBytes(free)} free`;
  return check(`disk of ${stateDir}`, state, detail, `make room there: df -h ${stateDir}`);
}

async function pools(stateDir: string, free: number): Promise<Check[]> {
  const folder = join(stateDir, "pools");
  const names = await readdir(folder).catch((): string[] => []);
  const { dev } = await stat(stateDir);
  const missing = await Promise.all(
    names.map(async (name) => {
      const file = await stat(join(folder, name, "pool.img")).catch(() => undefined);
      return file?.dev === dev ? Math.max(0, file.size - file.blocks * 512) : 0;
    }),
  );
  const grows = missing.reduce((sum, each) => sum + each, 0);
  if (grows <= free) return [];
  const detail = `the files of its pools may still grow by ${describeBytes(grows)}, and the disk below has ${describeBytes(free)} free: when that is taken, writes to volumes fail`;
  const next =
    "make room on that disk, or keep volumes smaller together; the next state folder: a smaller --pool-size";
  return [check(`pools of ${stateDir}`, "warn", detail, next)];
}

/** Warns on stderr, when a process starts, of what {@link diskChecks} finds. */
export async function warnOfDisks(stateDir: string): Promise<void> {
  for (const { check: name, state, detail, next } of await diskChecks(stateDir)) {
    if (state === "ok") continue;
    process.stderr.write(`warning: ${name}: ${detail}\n`);
    if (next !== undefined) process.stderr.write(`next: ${next}\n`);
  }
}

/** Of a stop that could write nothing down: the next start goes by what was recorded before. */
export function warnOfUnrecorded(stateDir: string): void {
  const lost = "how pods have ended may not be recorded, and the next start needs";
  if (isUnwritable(stateDir)) {
    process.stderr.write(
      `warning: stopped, but the disk of ${stateDir} is read-only: ${lost} to write there\n`,
    );
    process.stderr.write("next: see why (dmesg), check the file system (fsck), and mount it for writing\n");
  }
  if (diskFull(diskRoom(stateDir)) === undefined) return;
  process.stderr.write(`warning: stopped, but the disk of ${stateDir} is full: ${lost} room\n`);
  process.stderr.write(`next: make room there: df -h ${stateDir}\n`);
}

/** A file system that has given up may not show that in its options. */
function isUnwritable(folder: string): boolean {
  try {
    const now = new Date();
    utimesSync(folder, now, now);
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EROFS";
  }
}
