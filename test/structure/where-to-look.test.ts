import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

test("every folder that where-to-look names is there, and every file in it", async () => {
  const text = await readFile(join(ROOT, "docs/where-to-look.md"), "utf8");
  const rows = text.split("\n").filter((line) => line.startsWith("| ") && line.includes("`"));
  assert.ok(rows.length >= 20, `${rows.length} symptoms`);
  const missing: string[] = [];
  for (const row of rows) {
    const where = row.split("|")[2] ?? "";
    let folder = "";
    for (const [, name = ""] of where.matchAll(/`([^`]+)`/g)) {
      if (name.includes("/")) folder = name;
      if (!/[/.]/.test(name)) continue;
      const path = name.includes("/") ? name : join(folder, name);
      if (!existsSync(join(ROOT, "packages", path))) missing.push(path);
    }
  }
  assert.deepEqual(missing, []);
});
