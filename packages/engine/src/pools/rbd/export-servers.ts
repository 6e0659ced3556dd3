import { readdir, readFile } from "node:fs/promises";
import { defined } from "@mooring/store";
import type { RbdPlace } from "./place.ts";

/** Shows one image as a file, for as long as it runs. */
export const EXPORT_PROGRAM = "qemu-storage-daemon";

/** Nothing of a key is among them: that is where the configuration file says. */
export function serverArguments(
  place: RbdPlace,
  { conf, image, path }: { conf: string; image: string; path: string },
): string[] {
  const { pool, namespace, user } = place;
  const blockdev = {
    ...{ driver: "rbd", "node-name": "image", pool, image, conf, user },
    ...defined({ namespace }),
    // Written is what the cluster has: nothing waits for a flush in a process that may be killed.
    cache: { direct: true },
    discard: "unmap",
  };
  const exported = { type: "fuse", id: "file", "node-name": "image", mountpoint: path, writable: true };
  return ["--blockdev", JSON.stringify(blockdev), "--export", JSON.stringify(exported)];
}

/** Processes, of whatever life of the agent, that show an image at this path: the argument that names it is their own. */
export function serversAt(path: string): Promise<number[]> {
  return servers(`"mountpoint":${JSON.stringify(path)}`);
}

/** Ends those below a folder that goes. */
export async function endExports(folder: string): Promise<void> {
  for (const pid of await servers(`"mountpoint":"${folder}/`)) endServer(pid, "SIGKILL");
}

async function servers(argument: string): Promise<number[]> {
  const pids: number[] = [];
  for (const entry of await readdir("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const line = await readFile(`/proc/${entry}/cmdline`, "utf8").catch(() => "");
    const [program = "", ...args] = line.split("\0");
    if (program.endsWith(EXPORT_PROGRAM) && args.some((arg) => arg.includes(argument)))
      pids.push(Number(entry));
  }
  return pids;
}

/** One that has ended meanwhile is fine. */
export function endServer(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended meanwhile.
  }
}
