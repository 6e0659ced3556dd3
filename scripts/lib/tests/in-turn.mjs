// As a program, `in-turn.mjs FILES`: runs test files in one process, one after another. FILES is JSON: for each its `name`,
// its `program`, and `covers`, the file for what its tests cover. What they have in common is loaded once.

import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { endOf } from "./reporter.mjs";

/** What is to be called after a file, and after all: see test/support/at-end.ts. */
const ends = { file: [], process: [] };
globalThis[Symbol.for("mooring.tests.ends")] = ends;

// What an end waits for may keep no process alive, a timer that is unref'd for one: the files that follow need it all the same.
const alive = setInterval(() => {}, 1_000);
const files = JSON.parse(process.argv[2]);
for (const { name, program, covers } of files) {
  process.env.MOORING_COVERS = covers;
  try {
    await import(pathToFileURL(program));
  } catch (error) {
    test("is loaded", () => Promise.reject(error));
  }
  // Tests run in the order in which they came: this is the last one of the file.
  await test(endOf(name), async () => {
    await callAll(ends.file);
    if (name !== files.at(-1).name) return;
    await callAll(ends.process).finally(() => clearInterval(alive));
  });
}

/** The last one first, and each of them, whatever becomes of the others. */
async function callAll(list) {
  const errors = [];
  for (const end of list.splice(0).reverse()) {
    try {
      await end();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}
