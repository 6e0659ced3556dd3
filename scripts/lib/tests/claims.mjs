import { readFile } from "node:fs/promises";
import { relative } from "node:path";
import { ROOT } from "../setup.mjs";
import { findTests } from "./find.mjs";

const TITLE = /\b(?:test|it|describe)\(\s*(["'`])((?:\\.|(?!\1)[\s\S])*?)\1/g;
const TITLED = /\[((?:CSI|GRP|K8S|KEP|LHA)-\d+)\]/g;
const COVERS = /\bcovers\(\s*((?:["'][^"']*["']\s*,?\s*)+)\)/g;
const STRING = /["']([^"']*)["']/g;

/** The requirements that tests say they prove, as their sources have it: `{ id, file }`. */
export async function claims() {
  const found = [];
  for (const path of await findTests([])) {
    const text = await readFile(path, "utf8");
    const file = relative(ROOT, path);
    for (const [, , title] of text.matchAll(TITLE))
      for (const [, id] of title.matchAll(TITLED)) found.push({ id, file });
    // The test of covers() itself names what does not exist.
    if (file.endsWith("testing/covers.test.ts")) continue;
    for (const [, ids] of text.matchAll(COVERS))
      for (const [, id] of ids.matchAll(STRING)) found.push({ id, file });
  }
  return found;
}
