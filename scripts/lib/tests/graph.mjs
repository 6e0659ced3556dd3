import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { build } from "esbuild";
import { AS_PROGRAM, BUNDLE } from "../bundle.mjs";
import { ROOT } from "../setup.mjs";

const COMMAND = "packages/cli/src/main.ts";
/** A path in a string: of a program that a test starts, or of a file that it reads. */
const PATH = /["'`]([\w./@-]+\.[a-z]+)["'`]/g;

/**
 * What each module of the repository needs, as paths from its root: what it imports, from esbuild's `metafile` of all
 * tests, and what it names in strings, such as the programs that tests start. `reachedFrom(path)` is a test with all of
 * that; `textOf(path)` the source of a module.
 */
export async function moduleGraph(metafile) {
  const needs = new Map();
  const texts = new Map();
  await add(metafile);
  for (let more = missing(); more.length > 0; more = missing()) {
    const options = { ...AS_PROGRAM, entryPoints: more.map((path) => join(ROOT, path)), outdir: ROOT };
    await add((await build({ ...options, write: false, metafile: true, absWorkingDir: ROOT })).metafile);
    for (const path of more) if (!needs.has(path)) needs.set(path, new Set());
  }

  async function add({ inputs }) {
    for (const [path, { imports }] of Object.entries(inputs)) {
      if (path.startsWith("node_modules/") || needs.has(path)) continue;
      const text = await readFile(join(ROOT, path), "utf8");
      texts.set(path, text);
      const imported = imports.filter(({ external }) => external !== true).map((each) => each.path);
      needs.set(path, new Set([...imported, ...named(path, text)]));
    }
  }

  function missing() {
    const named = [...needs.values()].flatMap((paths) => [...paths]);
    return [...new Set(named)].filter(
      (path) => /^(packages|test|scripts|examples)\/.*\.(ts|mjs)$/.test(path) && !needs.has(path),
    );
  }

  const reachedFrom = (test) => {
    const reached = new Set([test]);
    // A set that grows while it is walked is walked to its end.
    for (const path of reached) for (const next of needs.get(path) ?? []) reached.add(next);
    return reached;
  };
  return { reachedFrom, textOf: (path) => texts.get(path) ?? "" };
}

function named(module, text) {
  const found = [];
  for (const [, name] of text.matchAll(PATH)) {
    const path = relative(ROOT, join(ROOT, dirname(module), name));
    if (path === relative(ROOT, BUNDLE)) found.push(COMMAND);
    else if (!path.startsWith("..") && /^(\.\.?\/|\w)/.test(name) && existsSync(join(ROOT, path)))
      found.push(path);
  }
  return found;
}
