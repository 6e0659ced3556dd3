import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const PACKAGES = fileURLToPath(new URL("../../packages", import.meta.url));

/** Of what each package exports from its modules, so many of a hundred have a comment at least. */
const LEAST: Readonly<Record<string, number>> = {
  ...{ cli: 95, csi: 95, driver: 95, engine: 95 },
  ...{ sidecars: 95, standalone: 95, store: 95 },
};
const EXPORT = /^export (async |abstract )*(function\*?|class|interface|type|const|enum) \w/;

test("what a package exports is documented", async () => {
  for (const [name, least] of Object.entries(LEAST)) {
    const folder = join(PACKAGES, name, "src");
    let [all, documented] = [0, 0];
    for (const path of await readdir(folder, { recursive: true })) {
      if (!path.endsWith(".ts") || path.endsWith(".test.ts") || /\b(gen|testing)\//.test(path)) continue;
      const lines = (await readFile(join(folder, path), "utf8")).split("\n");
      for (const [at, line] of lines.entries()) {
        if (!EXPORT.test(line)) continue;
        all += 1;
        if (lines[at - 1]?.endsWith("*/")) documented += 1;
      }
    }
    const percent = Math.floor((100 * documented) / all);
    assert.ok(
      percent >= least,
      `@mooring/${name}: ${documented} of ${all} exports, ${percent} %, not ${least} %`,
    );
  }
});
