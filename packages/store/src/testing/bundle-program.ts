import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
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
  const source = typeof entry === "string" ? entry : fileURLToPath(entry);
  const made = madeByTheRun(source);
  if (made !== undefined) return { path: made, remove: async () => {} };
  // Loaded here, because most tests that import something from this folder start no program.
  const { build } = await import("esbuild");
  await mkdir(CACHE, { recursive: true });
  const folder = await mkdtemp(join(CACHE, "program-"));
  const path = join(folder, "program.mjs");
  await build({
    entryPoints: [source],
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

/** A run of many tests makes all programs together with them, in a folder that it takes away. */
function madeByTheRun(source: string): string | undefined {
  const folder = process.env["MOORING_TEST_PROGRAMS"];
  if (folder === undefined) return undefined;
  const path = join(folder, relative(dirname(CACHE), source).replace(/\.ts$/, ".mjs"));
  return existsSync(path) ? path : undefined;
}
