import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const PACKAGES = fileURLToPath(new URL("../../packages", import.meta.url));
const MOST_LINES = 400;
const MOST_PARAMETERS = 4;
const BEGINS = /^(?:export )?(?:async )?function\*? (\w+)|^ {2}(?:static |async |\*)*(#?\w+)(?=[<(])/gm;

/** How many parameters the list has that begins at `text[open]`, an opening parenthesis; 0 for the arguments of a call. */
function parameters(text: string, open: number): number {
  let [depth, commas, last, at] = [0, 0, "", open];
  for (; at < text.length; at++) {
    const letter = text.charAt(at);
    if ("([{<".includes(letter)) depth += 1;
    // The arrow of a type closes nothing.
    if (")]}".includes(letter) || (letter === ">" && text.charAt(at - 1) !== "=")) depth -= 1;
    if (depth === 0) break;
    if (letter === "," && depth === 1) commas += 1;
    if (letter.trim() !== "") last = letter;
  }
  const isDefinition = /^\)\s*[:{]/.test(text.slice(at, at + 20));
  if (last === "(" || !isDefinition) return 0;
  return last === "," ? commas : commas + 1;
}

/** Functions and methods that are given too much, by line. */
function crowded(text: string): string[] {
  return [...text.matchAll(BEGINS)].flatMap((found) => {
    const name = found[1] ?? found[2] ?? "";
    if (["if", "for", "while", "switch", "return", "catch", "await"].includes(name)) return [];
    const open = text.indexOf("(", found.index + found[0].length);
    const line = text.slice(0, found.index).split("\n").length;
    return open >= 0 && parameters(text, open) > MOST_PARAMETERS ? [`${line}: ${name}`] : [];
  });
}

test("a file needs no table of contents, and a function takes an object rather than a fifth parameter", async () => {
  const five =
    "export async function one(\n  a: A,\n  { b, c }: B<C, D>,\n  d: (e: E, f: F) => G,\n  h: H,\n  i: I,\n): J {}\n";
  assert.deepEqual(crowded(five), ["1: one"]);
  assert.deepEqual(crowded(five.replace("  i: I,\n", "")), []);
  const wrong: string[] = [];
  for (const name of await readdir(PACKAGES)) {
    for (const path of await readdir(join(PACKAGES, name, "src"), { recursive: true })) {
      if (!path.endsWith(".ts") || path.endsWith(".test.ts") || /\bgen\//.test(path)) continue;
      const text = await readFile(join(PACKAGES, name, "src", path), "utf8");
      const lines = text.split("\n").length - 1;
      if (lines > MOST_LINES) wrong.push(`${name}/src/${path}: ${lines} lines`);
      wrong.push(...crowded(text).map((each) => `${name}/src/${path}:${each}`));
    }
  }
  assert.deepEqual(wrong, []);
});
