import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { covers } from "./covers.ts";

/** The paths and ids that are printed while `declare` runs. */
function recorded(declare: () => void): unknown[] {
  const previous = process.env["MOORING_COVERS"];
  const folder = mkdtempSync(join(tmpdir(), "mooring-covers-"));
  process.env["MOORING_COVERS"] = join(folder, "covers");
  try {
    declare();
    const lines = readFileSync(join(folder, "covers"), "utf8").trimEnd().split("\n");
    return lines.map((line) => JSON.parse(line));
  } finally {
    if (previous === undefined) delete process.env["MOORING_COVERS"];
    else process.env["MOORING_COVERS"] = previous;
    rmSync(folder, { recursive: true, force: true });
  }
}

describe("covers", () => {
  test("names the test that it is called in, and those around it", (t) => {
    const lines = recorded(() => covers("X-1", "X-2"));
    assert.deepEqual(lines, [{ path: ["covers", t.name], ids: ["X-1", "X-2"] }]);
  });

  describe("in a suite", () => {
    const lines = recorded(() => covers("X-3"));
    test("names the suite", () => {
      assert.deepEqual(lines, [{ path: ["covers", "in a suite"], ids: ["X-3"] }]);
    });
  });

  test("is refused where it is not clear which test it is for", async () => {
    await Promise.resolve();
    assert.throws(() => covers("X-4"), /beginning of a test/);
  });
});
