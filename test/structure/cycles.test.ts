import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join, normalize, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const IMPORT = /(?:^|\n)(?:import|export)\b[^;]*?from\s+"(\.[^"]+)"/g;

/** Every module of the packages, with the modules that it imports, types included. */
async function modules(): Promise<Map<string, string[]>> {
  const entries = await readdir(join(ROOT, "packages"), { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name) && !entry.name.endsWith(".test.ts"))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => path.includes("/src/") && !path.includes("/node_modules/"));
  const all = new Map<string, string[]>();
  for (const file of files) {
    const text = await readFile(file, "utf8");
    const imports = [...text.matchAll(IMPORT)].map(([, path = ""]) => normalize(join(dirname(file), path)));
    all.set(file, imports);
  }
  return all;
}

/** One way from a module back to itself, for each module that first closes one. */
function cycles(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): void => {
    if (path.includes(file)) {
      const circle = [...path.slice(path.indexOf(file)), file];
      found.push(circle.map((each) => relative(ROOT, each)).join(" -> "));
      return;
    }
    if (done.has(file)) return;
    path.push(file);
    for (const next of graph.get(file) ?? []) visit(next);
    path.pop();
    done.add(file);
  };
  for (const file of graph.keys()) visit(file);
  return found;
}

test("no module imports itself by way of others, not even for a type", async () => {
  const graph = await modules();
  assert.ok(graph.size > 1000, `${graph.size} modules`);
  assert.deepEqual(cycles(graph), []);
  // The search itself: it would see one.
  assert.equal(
    cycles(
      new Map([
        ["a", ["b"]],
        ["b", ["c", "d"]],
        ["c", []],
        ["d", ["a"]],
      ]),
    ).length,
    1,
  );
});
