import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { FLAWS, MORE, type Shown } from "./group-flaws.ts";
import { SIDECAR_FLAWS } from "./sidecar-flaws.ts";

/** Of a test that is declared there, also in a loop and with a part of its title filled in. */
const TITLE = /\btest\(\s*(["`])(.*?)\1\s*,/gs;

/** Of these, those whose test is not there. */
async function missingTests(flaws: readonly (readonly [string, Shown])[]): Promise<string[]> {
  const missing: string[] = [];
  for (const [number, { file, flaw, test: title }] of flaws) {
    const path = new URL(`../../packages/${file}`, import.meta.url);
    const text = await readFile(path, "utf8").catch(() => "");
    const titles = [...text.matchAll(TITLE)].map(([, , each = ""]) => each);
    if (!titles.some((each) => each.includes(title))) missing.push(`${number} (${flaw}): ${file}: ${title}`);
  }
  return missing;
}

const numbered = (letter: string) => Array.from({ length: 24 }, (_, index) => `${letter}${index + 1}`);

test("each flaw of other volume group operators has a test that shows it not to be ours, and that test exists", async () => {
  assert.deepEqual(Object.keys(FLAWS), numbered("F"));
  assert.deepEqual(await missingTests([...Object.entries(FLAWS), ...Object.entries(MORE)]), []);
});

test("each flaw that the sidecars' code was found to have has a test that shows it not to be ours, or a reason why it cannot be", async () => {
  assert.deepEqual(Object.keys(SIDECAR_FLAWS), numbered("S"));
  const shown = Object.entries(SIDECAR_FLAWS).flatMap(([number, row]) =>
    "why" in row ? [] : [[number, row] as const],
  );
  assert.deepEqual(await missingTests(shown), []);
});
