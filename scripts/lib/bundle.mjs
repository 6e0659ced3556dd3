import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT } from "./setup.mjs";

const DIST = join(ROOT, "dist");
const PARTS = join(DIST, "parts");
const OUT = join(DIST, "mooring.mjs");
const ENTRY = join(ROOT, "packages/cli/src/main.ts");
const SERVING = join(ROOT, "packages/cli/src/commands/serving.ts");
const API_SERVER = join(ROOT, "packages/standalone/src/apiserver/thread/main.ts");
const CODE_CACHE = join(ROOT, "packages/cli/src/process/code-cache.ts");
/** How long the parts of an earlier bundle stay: a program loads all of its own as it starts, which takes a second. */
const KEPT_MS = 600_000;

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

/** The same as one script, of which V8 can keep what it has compiled: see packages/cli/src/process/code-cache.ts. */
const AS_SCRIPT = {
  format: "cjs",
  banner: { js: "const __url=require('node:url').pathToFileURL(__filename).href;" },
  outExtension: { ".js": ".cjs" },
};

/** A thread from a text finds no packages: what it does not use of them is not even asked for. */
const UNUSED = {
  name: "unused",
  setup({ onResolve }) {
    onResolve({ filter: /^(lmdb|koffi)$/ }, ({ path }) => ({ path, external: true, sideEffects: false }));
  },
};

/**
 * The thread in which the API server reads large bodies, as a text: a program that is one file has it in itself. Used as
 * esbuild's `define`.
 */
export async function threads() {
  const { build } = await import("esbuild");
  const { outputFiles } = await build({
    ...AS_PROGRAM,
    format: "cjs",
    banner: {},
    define: { "import.meta.url": '"file:///"' },
    entryPoints: [join(ROOT, "packages/standalone/src/apiserver/http/parse/worker.ts")],
    write: false,
    minify: true,
    plugins: [UNUSED],
  });
  return { "process.env.MOORING_PARSE_THREAD": JSON.stringify(outputFiles[0].text) };
}

/** The API server's thread as a program, for tests: esbuild's `define` of where it is. It lies in `folder`. */
export async function apiServerThread(folder) {
  const { build } = await import("esbuild");
  const outfile = join(folder, "api-server.cjs");
  await build({
    ...AS_PROGRAM,
    ...AS_SCRIPT,
    outExtension: {},
    outfile,
    entryPoints: [API_SERVER],
    define: { "import.meta.url": "__url", ...(await threads()) },
  });
  return { "process.env.MOORING_API_THREAD": JSON.stringify(pathToFileURL(outfile).href) };
}

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

/**
 * Bundles the `mooring` command when a source is newer than the last bundle. The commands that serve are a file of their
 * own, so that the others start without reading it: each file has only what its commands use.
 */
export async function bundle({ force = false } = {}) {
  const sources = Math.max(await newest(join(ROOT, "packages")), await newest(join(ROOT, "deploy")));
  if (!force && existsSync(OUT) && (await stat(OUT)).mtimeMs > sources) return OUT;
  await mkdir(PARTS, { recursive: true });
  await replace(join(DIST, "definitions.json"), JSON.stringify(await definitions()));
  await replace(join(DIST, "package.json"), '{"type":"module"}\n');
  const part = { ...AS_SCRIPT, outdir: PARTS, entryNames: "[name]-[hash]" };
  const thread = await make(API_SERVER, { ...part, entryNames: "api-server-[hash]" });
  const where = `./${basename(thread.find((path) => path.endsWith(".cjs")))}`;
  const serving = await make(SERVING, part, { "process.env.MOORING_API_THREAD": JSON.stringify(where) });
  const name = serving.find((path) => path.endsWith(".cjs"));
  const elsewhere = {
    name: "serving",
    setup: ({ onResolve, onLoad }) => {
      // By its name alone: a path of this machine has no place in a program.
      onResolve({ filter: /\/serving\.ts$/ }, () => ({ path: basename(name), namespace: "elsewhere" }));
      onLoad({ filter: /./, namespace: "elsewhere" }, () => ({ contents: loading(name), resolveDir: ROOT }));
    },
  };
  // The entry comes last: who finds it finds the other file as well.
  await make(ENTRY, { outdir: DIST, entryNames: basename(OUT, ".mjs"), plugins: [elsewhere] });
  await removeOld([...thread, ...serving]);
  return OUT;
}

/** The module that stands for the file `path` in the other one. */
const loading = (path) => `
  const { loadWithCodeCache } = require(${JSON.stringify(CODE_CACHE)});
  module.exports = loadWithCodeCache("./parts/${basename(path)}", process.argv[2]);`;

/** The documents of each definition that comes with Mooring, by the SHA-256 of its text: see packages/standalone/src/crd/read-definitions.ts. */
async function definitions() {
  const { parseAllDocuments } = await import("yaml");
  const texts = await Promise.all(
    ["crds", "standalone-crds"].map(async (name) => {
      const folder = join(ROOT, "deploy", name);
      return Promise.all((await readdir(folder)).sort().map((file) => readFile(join(folder, file), "utf8")));
    }),
  );
  const parsed = texts
    .flat()
    .map((text) => [
      createHash("sha256").update(text).digest("hex"),
      parseAllDocuments(text).map((document) => document.toJS()),
    ]);
  return Object.fromEntries(parsed);
}

/** Writes what esbuild makes of `entry`; resolves with the paths. */
async function make(entry, options, define = {}) {
  const { build } = await import("esbuild");
  const version = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")).version;
  const { outputFiles } = await build({
    ...AS_PROGRAM,
    write: false,
    entryPoints: [entry],
    outExtension: { ".js": ".mjs" },
    // Less to read at every start; names stay, for errors and for stacks.
    minifyWhitespace: true,
    minifySyntax: true,
    define: {
      "process.env.MOORING_VERSION": JSON.stringify(version),
      ...(options.format === "cjs" && { "import.meta.url": "__url" }),
      ...(await threads()),
      ...define,
    },
    sourcemap: "linked",
    sourcesContent: false,
    ...options,
  });
  // A program comes after its map.
  const ordered = outputFiles.sort((a, b) => b.path.length - a.path.length);
  for (const { path, contents } of ordered) await replace(path, contents);
  return ordered.map(({ path }) => path);
}

/** What earlier bundles have left, which a program that is just starting from those may still load. */
async function removeOld(current) {
  const now = Date.now();
  for (const path of (await readdir(PARTS)).map((name) => join(PARTS, name))) {
    if (current.some((file) => path.startsWith(file))) continue;
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: now }));
    if (now - mtimeMs > KEPT_MS) await rm(path, { force: true });
  }
}
