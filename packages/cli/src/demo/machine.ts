import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createHost } from "@mooring/engine";

/** What of a state folder is still in use on this machine. */
export interface Remains {
  mounts: string[];
  loops: string[];
  /** Processes that still see a mount from below the folder, in whatever mount namespace they are. */
  processes: string[];
}

async function processesSeeing(folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const seen = await readFile(`/proc/${pid}/mountinfo`, "utf8").catch(() => "");
    const own = await readFile("/proc/self/mountinfo", "utf8");
    if (seen === own || !seen.includes(folder)) continue;
    const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    found.push(`${pid} ${command.replaceAll("\0", " ").slice(0, 60)}`.trim());
  }
  return found;
}

/** Images in the default pool: files that hold a volume's or a snapshot's bytes. */
export async function images(stateDir: string): Promise<string[]> {
  const folder = join(stateDir, "pools", "default", "mnt", "images");
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
}

/** Looks at mountinfo, sysfs and /proc: the kernel's own word, not our records. */
export async function remains(folder: string): Promise<Remains> {
  const host = createHost();
  const below = (path: string): boolean => path.startsWith(`${folder}/`);
  return {
    mounts: (await host.mounts.list()).map((entry) => entry.target).filter(below),
    loops: (await host.loops.list()).filter((loop) => below(loop.backingFile)).map((loop) => loop.path),
    processes: await processesSeeing(folder),
  };
}
