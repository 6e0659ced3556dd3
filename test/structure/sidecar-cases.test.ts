// biome-ignore-all lint/suspicious/noTemplateCurlyInString: titles of tables look like that

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { SIDECAR_TESTS } from "./sidecar-tests.ts";
import { titlesOf } from "./titles.ts";

/** What a title of a table has in the place of a row's words. */
const FILLED = /\$\{[^}]*\}/;

/** Of one case: which test of the sidecars has it, and what of ours shows it, or why nothing does. */
interface Row {
  of: string;
  file: string;
  shown: string;
}

async function rows(): Promise<Row[]> {
  const text = await readFile(new URL("../../docs/sidecar-cases.tsv", import.meta.url), "utf8");
  const [, ...lines] = text.trimEnd().split("\n");
  return lines.map((line) => {
    const [of = "", , file = "", shown = "", ...more] = line.split("\t");
    assert.deepEqual(more, [], line);
    return { of, file, shown };
  });
}

const escaped = (text: string) => text.replace(/[.*+?^$()[\]{}|\\]/g, "\\$&");

/** Whether the file has the test: its title, or that of a table together with the words of a row. */
function isShown(text: string, titles: readonly string[], shown: string): boolean {
  return titles.some((title) => {
    if (title.includes(shown)) return true;
    const parts = title.split(FILLED);
    if (parts.length === 1) return false;
    const found = new RegExp(`^${parts.map(escaped).join("(.+?)")}$`).exec(shown);
    return found?.slice(1).every((words) => text.includes(`"${words}"`)) ?? false;
  });
}

test("every case that the sidecars' tests have is shown by a test, which is there, or has a reason why not", async () => {
  const files = new Map<string, Promise<string>>();
  const wrong: string[] = [];
  for (const { of, file, shown } of await rows()) {
    if (file === "-") {
      if (shown.length < 20) wrong.push(`${of}: no reason`);
      continue;
    }
    const reading =
      files.get(file) ?? readFile(new URL(`../../${file}`, import.meta.url), "utf8").catch(() => "");
    files.set(file, reading);
    const text = await reading;
    if (shown === "" || !isShown(text, titlesOf(text), shown)) wrong.push(`${of}: ${file}: ${shown}`);
  }
  assert.deepEqual(wrong, []);
});

test("no case of the sidecars' tests is left out: each test has as many lines as it has cases", async () => {
  const counted: Record<string, number> = {};
  for (const { of } of await rows()) counted[of] = (counted[of] ?? 0) + 1;
  const expected = Object.entries(SIDECAR_TESTS).flatMap(([section, tests]) =>
    Object.entries(tests).map(([name, cases]) => [`${section} ${name}`, cases] as const),
  );
  assert.deepEqual(Object.keys(SIDECAR_TESTS), ["5.1", "5.2", "5.3", "5.4", "5.5", "5.6", "5.7"]);
  assert.deepEqual(counted, Object.fromEntries(expected));
});

test("a row of a table is found by its title and its words, and not by one of them", () => {
  const text = 'const ROWS = [["too small", 1]]; test(`a restore: ${title}: ${result}`, () => {}); "refused"';
  const titles = titlesOf(text);
  assert.ok(isShown(text, titles, "a restore: too small: refused"));
  assert.ok(!isShown(text, titles, "a restore: too large: refused"));
  assert.ok(!isShown(text, titles, "a clone: too small: refused"));
});
