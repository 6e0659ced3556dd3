import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { createHost } from "@mooring/engine";

/** What of a state folder is still in use on this machine. */
interface Remains {
  mounts: string[];
  loops: string[];
  /** Processes of containers that still see something from below the folder. */
  processes: string[];
}

/** Who sees mounts from below a folder in a mount namespace of its own. */
interface Onlookers {
  ours: string[];
  /**
   * Programs of other users, containers of another Mooring among them, that happened to get a mount namespace while we
   * had something mounted: they have copies of all mounts of the machine, and a device that we have released stays until
   * they end.
   */
  foreign: string[];
}

/** The control group of the containers of this state folder: see the runtime of standalone. */
function groupOf(folder: string): string {
  const digest = createHash("sha256").update(resolve(folder, "kubelet")).digest("hex");
  return `/mooring-${digest.slice(0, 12)}/`;
}

async function onlookers(folder: string): Promise<Onlookers> {
  const found: Onlookers = { ours: [], foreign: [] };
  const group = groupOf(folder);
  const own = await readFile("/proc/self/mountinfo", "utf8");
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const about = (file: string) => readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "");
    const seen = await about("mountinfo");
    if (seen === own || !seen.includes(folder)) continue;
    const ours = (await about("cgroup")).includes(group);
    const command = (await about("cmdline")).replaceAll("\0", " ").slice(0, 60);
    found[ours ? "ours" : "foreign"].push(`${pid} ${command}`.trim());
  }
  return found;
}

/** The kernel takes the device away with its last user. */
function isReleased(device: string): Promise<boolean> {
  const file = `/sys/block/${basename(device)}/loop/autoclear`;
  return readFile(file, "utf8").then(
    (text) => text.trim() === "1",
    () => true,
  );
}

/** Images in the default pool: files with a volume's or a snapshot's bytes. */
export async function images(stateDir: string): Promise<string[]> {
  const folder = join(stateDir, "pools", "default", "mnt", "images");
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
}

/** Reads mountinfo, sysfs and /proc: the kernel's own state, not our records. */
export async function remains(folder: string): Promise<Remains> {
  const host = createHost();
  const below = (path: string): boolean => path.startsWith(`${folder}/`);
  const { ours, foreign } = await onlookers(folder);
  const loops: string[] = [];
  for (const { backingFile, path } of await host.loops.list()) {
    if (!below(backingFile)) continue;
    if (foreign.length === 0 || !(await isReleased(path))) loops.push(path);
  }
  const mounts = (await host.mounts.list()).map((entry) => entry.target).filter(below);
  return { mounts, loops, processes: ours };
}
