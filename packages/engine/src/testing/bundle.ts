import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** Below the repository, so that packages are found from there; not under version control. */
const CACHE = fileURLToPath(new URL("../../../../.cache", import.meta.url));

/**
 * Bundles a child program of a test once, since starting it from source for every crash would cost more than all the
 * rest. Resolves to its path and how to remove it.
 */
export async function bundleChild(entry: string): Promise<{ path: string; remove: () => Promise<void> }> {
  await mkdir(CACHE, { recursive: true });
  const folder = await mkdtemp(join(CACHE, "child-"));
  const path = join(folder, "child.mjs");
  await build({
    entryPoints: [entry],
    outfile: path,
    bundle: true,
    platform: "node",
    format: "esm",
    packages: "external",
    plugins: [
      {
        name: "workspace packages from source",
        setup: ({ onResolve }) =>
          onResolve({ filter: /^@mooring\// }, ({ path: name }) => ({
            path: fileURLToPath(import.meta.resolve(name)),
          })),
      },
    ],
  });
  return { path, remove: () => rm(folder, { recursive: true, force: true }) };
}
