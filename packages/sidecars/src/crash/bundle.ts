import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** Next to the packages that stay outside of the bundle because they carry binaries. */
const CACHE = fileURLToPath(new URL("../../../../node_modules/.cache/", import.meta.url));

/** A program (default `child.ts`) as one file, which starts several times faster: crash tests start it often. */
export async function bundleChild(
  child = new URL("child.ts", import.meta.url),
): Promise<{ path: string; remove: () => Promise<void> }> {
  const folder = join(CACHE, `mooring-crash-${process.pid}`);
  await mkdir(folder, { recursive: true });
  const path = join(folder, "child.mjs");
  await build({
    entryPoints: [fileURLToPath(child)],
    outfile: path,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    conditions: ["mooring-source"],
    external: ["lmdb"],
    banner: {
      js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
    },
    logLevel: "error",
  });
  return { path, remove: () => rm(folder, { recursive: true, force: true }) };
}
