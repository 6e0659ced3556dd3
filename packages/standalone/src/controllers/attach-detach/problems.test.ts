import assert from "node:assert/strict";
import { test } from "node:test";
import { ReportedProblems } from "./problems.ts";

test("of several problems each is reported again after its own time, however late another came", () => {
  let now = 0;
  const reported = new ReportedProblems(60_000, () => now);
  const [first, second] = [
    { volume: "a", message: "refused" },
    { volume: "b", message: "refused" },
  ];
  reported.note("node", first);
  now = 25_000;
  reported.note("node", second);
  assert.equal(reported.repeatInMs("node", [first, second]), 35_000);
  now = 60_000;
  assert.deepEqual([reported.has("node", first), reported.has("node", second)], [false, true]);
  reported.note("node", first);
  assert.equal(reported.repeatInMs("node", [first, second]), 25_000);
});
