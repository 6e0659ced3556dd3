import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { AS_PROGRAM, apiServerThread, threads } from "../bundle.mjs";
import { ROOT } from "../setup.mjs";
import { findPrograms } from "./find.mjs";

/** Below the repository, so that packages are found from there. */
const CACHE = join(ROOT, ".cache");
/** Of fewer test files the programs that they start are made by those that start them. */
export const MANY = 10;
/** An import for what the module does when it is loaded, such as to name its failpoints. */
export const FOR_EFFECT = /^import "[.@]/m;

/**
 * Makes JavaScript of test files and of all that they import, in one go: loading each from its source would cost most of
 * them more than what they do. It also stays what it was when the run began, whatever is edited meanwhile.
 *
 * `pathOf(file)` is the program of a test file; `folder` also has the programs that tests start, by the paths of their
 * sources; `remove()` takes all of it away; `metafile` is esbuild's account of what imports what.
 */
export async function compileTests(files) {
  await mkdir(CACHE, { recursive: true });
  await removeStale();
  const folder = await mkdtemp(join(CACHE, `tests-${process.pid}-`));
  const remove = () => rm(folder, { recursive: true, force: true });
  const programs = files.length < MANY ? [] : await findPrograms();
  const options = {
    ...AS_PROGRAM,
    outbase: ROOT,
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    // What several tests import is there once, as files that they share.
    splitting: true,
    sourcemap: "linked",
    sourcesContent: false,
    metafile: true,
    absWorkingDir: ROOT,
    external: [...AS_PROGRAM.external, "esbuild"],
    define: {
      "import.meta.url": "__at.url",
      "import.meta.dirname": "__at.dirname",
      "import.meta.filename": "__at.filename",
      ...(await threads()),
      ...(await apiServerThread(folder)),
    },
    plugins: [WHERE],
  };
  try {
    const { whole, lean } = await byImports(files);
    const made = await Promise.all([
      build({ ...options, entryPoints: [...lean, ...programs] }),
      // Our packages call themselves free of side effects: without this, such an import is left out.
      build({ ...options, entryPoints: whole, ignoreAnnotations: true }),
    ]);
    const metafile = { inputs: Object.assign({}, ...made.map((each) => each.metafile.inputs)) };
    const pathOf = (file) => join(folder, relative(ROOT, file).replace(/\.ts$/, ".mjs"));
    return { folder, remove, metafile, pathOf };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Those that import a module for what it does, and the others, which load only what they use. */
async function byImports(files) {
  const texts = await Promise.all(files.map((file) => readFile(file, "utf8")));
  const forEffect = files.filter((_, index) => FOR_EFFECT.test(texts[index]));
  return { whole: forEffect, lean: files.filter((file) => !forEffect.includes(file)) };
}

/** What runs that were killed have left. */
async function removeStale() {
  for (const name of await readdir(CACHE)) {
    const pid = /^tests-(\d+)-/.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid)))
      await rm(join(CACHE, name), { recursive: true, force: true });
  }
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === "EPERM";
  }
}

/** A module goes on to find what lies beside its source. */
const WHERE = {
  name: "where",
  setup({ onLoad }) {
    onLoad({ filter: /\.(ts|m?js)$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      if (!text.includes("import.meta.")) return;
      const at = { url: pathToFileURL(path).href, dirname: dirname(path), filename: path };
      // No line of its own, so that the others keep their numbers; after a `#!`, which has to be the first.
      const start = text.startsWith("#!") ? text.indexOf("\n") + 1 : 0;
      const contents = `${text.slice(0, start)}const __at = ${JSON.stringify(at)};${text.slice(start)}`;
      return { loader: path.endsWith(".ts") ? "ts" : "js", contents };
    });
  },
};
