import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const page = (name: string) => readFile(join(ROOT, "docs/reference", name), "utf8");

/** What the packages need when they run, without each other. */
async function runtimeDependencies(): Promise<Set<string>> {
  const found = new Set<string>();
  for (const folder of await readdir(join(ROOT, "packages"))) {
    const path = join(ROOT, "packages", folder, "package.json");
    if (!existsSync(path)) continue;
    const { dependencies = {} } = JSON.parse(await readFile(path, "utf8")) as {
      dependencies?: Record<string, string>;
    };
    for (const name of Object.keys(dependencies)) if (!name.startsWith("@mooring/")) found.add(name);
  }
  return found;
}

test("each runtime dependency has a line with what it is for, and no line is about another", async () => {
  const [, rows = ""] = (await page("dependencies.md")).split("## npm packages");
  const documented = new Set<string>();
  for (const line of rows.split("\n").filter((each) => each.startsWith("| `"))) {
    const [, names = "", purpose = ""] = line.split("|");
    assert.ok(purpose.trim().length >= 10, `${names.trim()}: for what?`);
    for (const [, name = ""] of names.matchAll(/`([^`]+)`/g)) documented.add(name);
  }
  assert.deepEqual([...documented].sort(), [...(await runtimeDependencies())].sort());
});

test("what the threat model promises of the API names tests that are there", async () => {
  const text = await page("threat-model.md");
  const rows = text.split("\n").filter((line) => /\| (?:`(?:test|packages)\/|the same)[^|]*\|$/.test(line));
  assert.ok(rows.length >= 15, `${rows.length} claims`);
  const named = rows.flatMap((row) => [...row.matchAll(/`((?:test|packages)\/[^`]+)`/g)]);
  for (const [, path = ""] of named) {
    assert.ok(existsSync(join(ROOT, path)), `${path} is not there`);
    // Of the checks on a real cluster each is a program.
    if (/\.(test\.ts|mjs)$/.test(path)) continue;
    const files = await readdir(join(ROOT, path), { recursive: true });
    assert.ok(
      files.some((file) => file.endsWith(".test.ts")),
      `${path} has no tests`,
    );
  }
});
