import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** The processes that hold the writers of pools below a folder. */
export async function keepersBelow(folder: string): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found: number[] = [];
  for (const pid of pids) {
    const command = await readFile(join("/proc", pid, "cmdline"), "utf8").catch(() => "");
    if (command.startsWith(`mooring-pool-keeper ${folder}/`)) found.push(Number(pid));
  }
  return found;
}
