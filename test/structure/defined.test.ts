import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A field that is there when its own value is: `defined({ a })` says the same. What the value is made of may well be another. */
const PATTERN = /([\w$][\w$.?]*) === undefined\s*\?\s*\{\}\s*:\s*\{ (?:[\w$]+: )?\1(?:\.[\w$]+)* \}/;

/** What imports nothing of ours. */
const EXEMPT: Readonly<Record<string, string>> = {
  "packages/csi/": "the wire knows no objects",
  "packages/engine/src/host/spawner-child.ts": "its functions are the text of a program",
  "packages/cli/src/process/code-cache.ts": "it runs before anything else is loaded",
};

test("optional fields are put in by `defined`", async () => {
  assert.match("{ ...(a.b === undefined ? {} : { b: a.b }) }", PATTERN);
  assert.doesNotMatch("{ ...(a === undefined ? {} : { b: f(a) }) }", PATTERN);
  const wrong: string[] = [];
  for (const folder of ["packages", "test"]) {
    for (const entry of await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true })) {
      const path = relative(ROOT, join(entry.parentPath, entry.name));
      if (!entry.isFile() || !/\.tsx?$/.test(path) || path.endsWith("defined.test.ts")) continue;
      if (
        /\/(node_modules|dist|gen)\//.test(path) ||
        Object.keys(EXEMPT).some((exempt) => path.startsWith(exempt))
      )
        continue;
      const found = PATTERN.exec(await readFile(join(ROOT, path), "utf8"));
      if (found !== null) wrong.push(`${path}: ${found[0]}`);
    }
  }
  assert.deepEqual(wrong, []);
});
