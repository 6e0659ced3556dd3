import { readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { ROOT } from "../setup.mjs";

const SKIP = new Set(["node_modules", "dist", "gen", ".cache", ".git"]);
const DEFAULTS = ["packages", "test", "examples"].map((name) => join(ROOT, name));

/** Every `*.test.ts` below the given files and folders; below all folders that have tests when none is given. */
export async function findTests(roots) {
  const folders = roots.length > 0 ? roots.map((root) => resolve(root)) : DEFAULTS;
  return (await Promise.all(folders.map(below))).flat().sort();
}

async function below(path) {
  if ((await stat(path)).isFile()) return [path];
  const entries = await readdir(path, { withFileTypes: true });
  const found = entries.map((entry) => {
    if (entry.isDirectory()) return SKIP.has(entry.name) ? [] : below(join(path, entry.name));
    return entry.name.endsWith(".test.ts") ? [join(path, entry.name)] : [];
  });
  return (await Promise.all(found)).flat();
}
