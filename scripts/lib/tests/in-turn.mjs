// As a program, `in-turn.mjs FILES`: runs test files in one process, one after another. FILES is JSON: for each its `name`,
// its `program`, and `covers`, the file for what its tests cover. What they have in common is loaded once.

import { pathToFileURL } from "node:url";
import { hooksOfFile, test } from "./hooks-of-file.mjs";
import { endOf } from "./reporter.mjs";

/** What is to be called after a file, and after all: see test/support/at-end.ts. */
const ends = { file: [], process: [] };
globalThis[Symbol.for("mooring.tests.ends")] = ends;

const files = JSON.parse(process.argv[2]);
for (const { name, program, covers } of files) {
  process.env.MOORING_COVERS = covers;
  const hooks = await hooksOfFile(async () => {
    try {
      await import(pathToFileURL(program));
    } catch (error) {
      test("is loaded", () => Promise.reject(error));
    }
  });
  // Tests run in the order in which they came: this is the last one of the file.
  await test(endOf(name), async () => {
    await callAll([...hooks, ...ends.file.splice(0).reverse()]);
    if (name === files.at(-1).name) await callAll(ends.process.splice(0).reverse());
  });
}

/** Each of them, whatever becomes of the others. */
async function callAll(list) {
  const errors = [];
  for (const end of list) {
    try {
      await end();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}
