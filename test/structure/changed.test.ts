import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { filesReached } from "../../scripts/lib/tests/select.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

interface Graph {
  reachedFrom(test: string): Set<string>;
  textOf(path: string): string;
}

/** Which of the tests run after the change. `graph`: what each reaches beside itself. */
function reached(tests: readonly string[], changed: string, graph: Graph): string[] {
  const files = tests.map((path) => join(ROOT, path));
  return filesReached(files, [changed], graph).map((file: string) => relative(ROOT, file));
}

const TEXTS: Readonly<Record<string, string>> = {
  "packages/a/src/near.test.ts": 'import { near } from "./near.ts";',
  "packages/a/src/near.ts": 'import { deep } from "./deep.ts";',
  "packages/a/src/deep.ts": "",
  "packages/b/src/far.test.ts": 'readFile("table.tsv")',
  "test/structure/all.test.ts": 'for (const name of await readdir(join(ROOT, "packages"))) read(name);',
};
const graph: Graph = {
  reachedFrom: (path) =>
    new Set(
      path.endsWith("near.test.ts") ? [path, "packages/a/src/near.ts", "packages/a/src/deep.ts"] : [path],
    ),
  textOf: (path) => TEXTS[path] ?? "",
};
const TESTS = Object.keys(TEXTS).filter((path) => path.endsWith(".test.ts"));
const [near, far, all] = TESTS as [string, string, string];

test("a change runs the tests that import it, name it, or read every source of its folder", () => {
  assert.deepEqual(reached(TESTS, "packages/a/src/deep.ts", graph), [near, all]);
  assert.deepEqual(reached(TESTS, "packages/b/src/table.tsv", graph), [far, all]);
  assert.deepEqual(reached(TESTS, far, graph), [far, all]);
  assert.deepEqual(reached(TESTS, "docs/page.md", graph), []);
  assert.deepEqual(reached(TESTS, "package-lock.json", graph), TESTS);
});

test("what is true of every source is looked for after each change of one", () => {
  const folder = join(ROOT, "test/structure");
  const readers = readdirSync(folder).filter((name) => name.endsWith(".test.ts"));
  const real: Graph = {
    reachedFrom: (path) => new Set([path]),
    textOf: (path) => readFileSync(join(ROOT, path), "utf8"),
  };
  const chosen = reached(
    readers.map((name) => `test/structure/${name}`),
    "packages/engine/src/host/exec.ts",
    real,
  ).map((path) => path.replace("test/structure/", ""));
  for (const name of ["cycles", "defined", "documented", "imports", "sizes", "words"])
    assert.ok(chosen.includes(`${name}.test.ts`), name);
});
