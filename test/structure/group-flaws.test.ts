import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { FLAWS, MORE } from "./group-flaws.ts";

/** Of a test that is declared there, also in a loop and with a part of its title filled in. */
const TITLE = /\btest\(\s*(["`])(.*?)\1\s*,/gs;

test("each flaw of other volume group operators has a test that shows it not to be ours, and that test exists", async () => {
  const numbers = Object.keys(FLAWS);
  assert.deepEqual(
    numbers,
    Array.from({ length: 24 }, (_, index) => `F${index + 1}`),
  );
  const missing: string[] = [];
  for (const [number, { file, flaw, test: title }] of [...Object.entries(FLAWS), ...Object.entries(MORE)]) {
    const path = new URL(`../../packages/${file}`, import.meta.url);
    const text = await readFile(path, "utf8").catch(() => "");
    const titles = [...text.matchAll(TITLE)].map(([, , each = ""]) => each);
    if (!titles.some((each) => each.includes(title))) missing.push(`${number} (${flaw}): ${file}: ${title}`);
  }
  assert.deepEqual(missing, []);
});
