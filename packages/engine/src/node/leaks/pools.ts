import { existsSync } from "node:fs";
import { readdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import type { Leak } from "./leak.ts";
import type { KnownPool } from "./records.ts";

/** Pool files in the default place whose Pool object is gone. */
export async function strayPools(stateDir: string, pools: readonly KnownPool[]): Promise<Leak[]> {
  const home = join(stateDir, "pools");
  const names = await readdir(home).catch(() => []);
  const known = new Set(pools.map(({ layout }) => layout.folder));
  const folders = await Promise.all(
    names.map((name) => realpath(join(home, name)).catch(() => join(home, name))),
  );
  return folders
    .filter((folder) => !known.has(folder))
    .filter((folder) => existsSync(join(folder, "pool.img")) || existsSync(join(folder, "images")))
    .map((folder) => ({
      kind: "pool-without-record" as const,
      subject: folder,
      message: `${folder} seems to be a pool, but no Pool object names it`,
      fix: `create a Pool with spec.path ${folder}, or move the folder away; it may have the only copy of its volumes`,
    }));
}
