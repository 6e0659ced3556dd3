import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";

const ROOT = "/sys/fs/cgroup";

/** Controllers of control groups that this machine has mounted, whichever version: `memory`, `cpu`, `pids`, ... */
export async function controllersHere(root: string = ROOT): Promise<ReadonlySet<string>> {
  const unified = await readFile(join(root, "cgroup.controllers"), "utf8").catch(() => undefined);
  // Version 2 has its devices filter in programs of the kernel, not in a controller.
  if (unified !== undefined) return new Set([...unified.trim().split(" "), "devices", "freezer"]);
  const names = await readdir(root).catch(() => []);
  const mounted = await Promise.all(
    names.map(async (name) => {
      const found = await stat(join(root, name, "cgroup.procs")).catch(() => undefined);
      return found === undefined ? [] : name.split(",");
    }),
  );
  return new Set(mounted.flat());
}
