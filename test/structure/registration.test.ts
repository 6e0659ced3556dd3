import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Line numbers of statements of the module that wait, after the first one that registers a test. */
function waitsBetweenTests(code: string): number[] {
  const found: number[] = [];
  let line = 1;
  let registered = false;
  const texts = code.replace(/`(\\.|[^`\\])*`/g, (text) => text.replace(/[^\n]/g, ""));
  // A statement of the module begins where a line does, and goes on where lines are indented or close something.
  for (const statement of texts.split(/^(?=[a-z])/m)) {
    const waits =
      /^await\b|^for await\b/.test(statement) ||
      (/\bawait\b/.test(statement) && !/\basync\b/.test(statement));
    if (registered && waits) found.push(line);
    registered ||=
      /^(\s*)(test|describe|suite|it)\(/m.test(statement) && !/^(import|function|async)/.test(statement);
    line += statement.split("\n").length - 1;
  }
  return found;
}

test("a file of tests waits for nothing between two of them: hooks of `after` run once all tests that are known have ended", async () => {
  assert.deepEqual(
    waitsBetweenTests('test("a", () => {});\nconst b = await c();\ntest("d", () => {});\n'),
    [2],
  );
  assert.deepEqual(
    waitsBetweenTests('for (const a of [1])\n  test("a", async () => {\n    await b();\n  });\nawait c();\n'),
    [5],
  );
  assert.deepEqual(
    waitsBetweenTests('const b = await c();\ntest("a", async () => {\n  await b();\n});\n'),
    [],
  );
  const wrong: string[] = [];
  for (const folder of ["packages", "test"]) {
    for (const entry of await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true })) {
      const path = relative(ROOT, join(entry.parentPath, entry.name));
      if (!path.endsWith(".test.ts") || /\/(node_modules|dist)\//.test(path)) continue;
      const lines = waitsBetweenTests(await readFile(join(ROOT, path), "utf8"));
      wrong.push(...lines.map((line) => `${path}:${line}`));
    }
  }
  assert.deepEqual(wrong, []);
});
