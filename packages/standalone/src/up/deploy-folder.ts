import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's or the package's `deploy/crds`, wherever this file was bundled to. */
export async function crdFiles(): Promise<string[]> {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "deploy", "crds"))) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error("deploy/crds is missing beside the program; install Mooring again");
    folder = parent;
  }
  const crds = join(folder, "deploy", "crds");
  return (await readdir(crds))
    .filter((name) => name.endsWith(".yaml"))
    .sort()
    .map((name) => join(crds, name));
}
