import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Below the repository, so that packages are found from there; not under version control. */
const CACHE = fileURLToPath(new URL("../../../../.cache", import.meta.url));

/**
 * Makes one file of a program that a test starts many times: starting it from source each time would cost more than what
 * it does. It is also what it was, whatever is edited meanwhile. `entry`: the program's source. Remove it when done.
 */
export async function bundleProgram(
  entry: string | URL,
): Promise<{ path: string; remove: () => Promise<void> }> {
  // Loaded here, because most tests that import something from this folder start no program.
  const { build } = await import("esbuild");
  await mkdir(CACHE, { recursive: true });
  const folder = await mkdtemp(join(CACHE, "program-"));
  const path = join(folder, "program.mjs");
  await build({
    entryPoints: [typeof entry === "string" ? entry : fileURLToPath(entry)],
    outfile: path,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    conditions: ["mooring-source"],
    // Native code, and a parser whose macros are lost in a bundle.
    external: ["lmdb", "koffi", "@marcbachmann/cel-js"],
    banner: { js: "import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);" },
    logLevel: "warning",
  });
  return { path, remove: () => rm(folder, { recursive: true, force: true }) };
}
