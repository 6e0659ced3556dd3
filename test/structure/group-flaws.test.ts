import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { FLAWS, MORE, type Shown } from "./group-flaws.ts";
import { SIDECAR_FEATURES } from "./sidecar-features.ts";
import { SIDECAR_FLAWS } from "./sidecar-flaws.ts";
import { titlesOf } from "./titles.ts";

/** Whether a file of the repository has a test with this in its title. */
async function isTested(file: string, title: string): Promise<boolean> {
  const text = await readFile(new URL(`../../${file}`, import.meta.url), "utf8").catch(() => "");
  return titlesOf(text).some((each) => each.includes(title));
}

/** Of these, those whose test is not there. */
async function missingTests(flaws: readonly (readonly [string, Shown])[]): Promise<string[]> {
  const missing: string[] = [];
  for (const [number, { file, flaw, test: title }] of flaws)
    if (!(await isTested(`packages/${file}`, title))) missing.push(`${number} (${flaw}): ${file}: ${title}`);
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

test("each feature of the sidecars has a test that shows it, and that test exists, or a reason why it is not there", async () => {
  const missing: string[] = [];
  for (const [section, features] of Object.entries(SIDECAR_FEATURES))
    for (const [feature, file, title] of features)
      if (title !== undefined && !(await isTested(file, title)))
        missing.push(`${section} ${feature}: ${file}: ${title}`);
  assert.deepEqual(missing, []);
});
