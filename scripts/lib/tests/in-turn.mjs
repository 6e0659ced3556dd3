// As a program, `in-turn.mjs FILES`: runs test files in one process, one after another. FILES is JSON: for each its `name`,
// its `program`, and `covers`, the file for what its tests cover. What they have in common is loaded once.

import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { endOf } from "./reporter.mjs";

for (const { name, program, covers } of JSON.parse(process.argv[2])) {
  process.env.MOORING_COVERS = covers;
  try {
    await import(pathToFileURL(program));
  } catch (error) {
    test("is loaded", () => Promise.reject(error));
  }
  // Tests run in the order in which they came: this is the last one of the file.
  await test(endOf(name), () => {});
}
