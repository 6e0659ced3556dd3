import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { claims } from "../../scripts/lib/tests/claims.mjs";

test("tests say what they prove by covers(), of requirements that exist, and never in their titles", async () => {
  const { claimed, titled } = await claims();
  assert.deepEqual(titled, []);
  const rows = await readFile(new URL("../../docs/requirements.tsv", import.meta.url), "utf8");
  const known = new Set(rows.split("\n").map((row) => row.split("\t")[0]));
  assert.ok(claimed.length > 500, `${claimed.length} claims were found`);
  assert.deepEqual(
    claimed.filter(({ id }) => !known.has(id)),
    [],
  );
});
