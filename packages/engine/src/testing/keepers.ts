import { readdir, readFile } from "node:fs/promises";

/** The processes that hold the writers of the pool in a folder. */
export async function keepersOf(folder: string): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const name = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
      return name.startsWith(`mooring-pool-keeper ${folder}\0`) ? Number(pid) : 0;
    }),
  );
  return found.filter((pid) => pid > 0);
}
