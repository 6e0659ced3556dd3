import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** Next to the packages that stay outside of the bundle because they carry binaries. */
const CACHE = fileURLToPath(new URL("../../../../node_modules/.cache/", import.meta.url));

/** `child.ts` as one file: it starts several times faster, and crash tests start it often. */
export async function bundleChild(): Promise<{ path: string; remove(): Promise<void> }> {
  const folder = join(CACHE, `mooring-driver-crash-${process.pid}`);
  await mkdir(folder, { recursive: true });
  const path = join(folder, "child.mjs");
  await build({
    entryPoints: [fileURLToPath(new URL("child.ts", import.meta.url))],
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
