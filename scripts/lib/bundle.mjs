import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ROOT } from "./setup.mjs";

const OUT = join(ROOT, "dist", "mooring.mjs");

export { OUT as BUNDLE };

/** How esbuild makes programs for Node.js of our sources and all that they import. */
export const AS_PROGRAM = {
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  conditions: ["mooring-source"],
  // Native code (of koffi only a loader), and a parser whose macros are lost in a bundle.
  external: ["lmdb", "koffi", "@marcbachmann/cel-js"],
  banner: { js: "import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);" },
  logLevel: "warning",
};

async function newest(folder) {
  let latest = 0;
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.name === "node_modules" || entry.name === "dist") continue;
    const path = join(folder, entry.name);
    const time = entry.isDirectory() ? await newest(path) : (await stat(path)).mtimeMs;
    if (time > latest) latest = time;
  }
  return latest;
}

/** Others may start the command right now: they read the old file or the new one, never half of one. */
async function replace(path, contents) {
  const temporary = `${path}.${process.pid}`;
  await writeFile(temporary, contents);
  await rename(temporary, path);
}

/** Bundles the `mooring` command into one file when a source is newer than the last bundle. */
export async function bundle({ force = false } = {}) {
  const sources = Math.max(await newest(join(ROOT, "packages")), await newest(join(ROOT, "deploy")));
  if (!force && existsSync(OUT) && (await stat(OUT)).mtimeMs > sources) return OUT;
  const { build } = await import("esbuild");
  const version = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")).version;
  // Everything is one file, so that starting reads one file.
  const { outputFiles } = await build({
    ...AS_PROGRAM,
    write: false,
    entryPoints: [join(ROOT, "packages/cli/src/main.ts")],
    outfile: OUT,
    define: { "process.env.MOORING_VERSION": JSON.stringify(version) },
    sourcemap: "linked",
  });
  await mkdir(join(ROOT, "dist"), { recursive: true });
  await replace(join(ROOT, "dist", "package.json"), '{"type":"module"}\n');
  // The bundle comes last: who finds it finds its map as well.
  for (const { path, contents } of outputFiles.sort((a, b) => b.path.length - a.path.length)) {
    await replace(path, contents);
  }
  return OUT;
}
