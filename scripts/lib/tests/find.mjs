import { readdir, readFile, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { ROOT } from "../setup.mjs";

const SKIP = new Set(["node_modules", "dist", "gen", ".cache", ".git"]);
const DEFAULTS = ["packages", "test", "examples"].map((name) => join(ROOT, name));

/** Every `*.test.ts` below the given files and folders; below all folders that have tests when none is given. */
export async function findTests(roots) {
  const folders = roots.length > 0 ? roots.map((root) => resolve(root)) : DEFAULTS;
  return (await Promise.all(folders.map((path) => below(path, ".test.ts")))).flat().sort();
}

/** A program that a test starts: see packages/store/src/testing/bundle-program.ts. */
const PROGRAM = /\bbundleProgram\(\s*(?:new URL\(|join\(import\.meta\.dirname,)\s*"([^"]+)"/g;

/** The sources of all programs that tests, or what they share, start. */
export async function findPrograms() {
  const programs = new Set();
  for (const path of (await Promise.all(DEFAULTS.map((folder) => below(folder, ".ts")))).flat()) {
    if (!path.endsWith(".test.ts") && !path.includes("/testing/")) continue;
    const text = await readFile(path, "utf8");
    for (const [, name] of text.matchAll(PROGRAM)) programs.add(join(dirname(path), name));
  }
  return [...programs].sort();
}

async function below(path, ending) {
  if ((await stat(path)).isFile()) return [path];
  const entries = await readdir(path, { withFileTypes: true });
  const found = entries.map((entry) => {
    if (entry.isDirectory()) return SKIP.has(entry.name) ? [] : below(join(path, entry.name), ending);
    return entry.name.endsWith(ending) ? [join(path, entry.name)] : [];
  });
  return (await Promise.all(found)).flat();
}
