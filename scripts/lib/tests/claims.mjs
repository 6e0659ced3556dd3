import { readFile } from "node:fs/promises";
import { relative } from "node:path";
import { ROOT } from "../setup.mjs";
import { findTests } from "./find.mjs";

const TITLE = /\b(?:test|it|describe)\(\s*(["'`])((?:\\.|(?!\1)[\s\S])*?)\1/g;
const ID = /\b(?:CSI|GRP|K8S|KEP|LHA)-\d{3}\b/;
const COVERS = /\bcovers\(\s*((?:["'][^"']*["']\s*,?\s*)+)\)/g;
const STRING = /["']([^"']*)["']/g;

/**
 * What the sources of all tests say of requirements: `claimed`, those that they say to prove, as `{ id, file }`, and
 * `titled`, the titles with the id of one in them, as `{ title, file }`, which no page counts.
 */
export async function claims() {
  const [claimed, titled] = [[], []];
  for (const path of await findTests([])) {
    const text = await readFile(path, "utf8");
    const file = relative(ROOT, path);
    for (const [, , title] of text.matchAll(TITLE)) if (ID.test(title)) titled.push({ title, file });
    // The test of covers() itself names what does not exist.
    if (file.endsWith("testing/covers.test.ts")) continue;
    for (const [, ids] of text.matchAll(COVERS))
      for (const [, id] of ids.matchAll(STRING)) claimed.push({ id, file });
  }
  return { claimed, titled };
}
