import assert from "node:assert/strict";
import { test } from "node:test";
import { chooseMode, toMode } from "./access-modes.ts";

test("access modes map to CSI modes with and without SINGLE_NODE_MULTI_WRITER", () => {
  assert.equal(toMode("ReadWriteOnce", false), "SINGLE_NODE_WRITER");
  assert.equal(toMode("ReadWriteOncePod", false), "SINGLE_NODE_WRITER");
  assert.equal(toMode("ReadWriteOnce", true), "SINGLE_NODE_MULTI_WRITER");
  assert.equal(toMode("ReadWriteOncePod", true), "SINGLE_NODE_SINGLE_WRITER");
  assert.equal(toMode("ReadOnlyMany", true), "MULTI_NODE_READER_ONLY");
  assert.equal(toMode("ReadWriteMany", false), "MULTI_NODE_MULTI_WRITER");
  assert.equal(toMode("Nonsense", false), undefined);
});

const SHORT: Readonly<Record<string, string>> = {
  ...{ RWX: "ReadWriteMany", ROX: "ReadOnlyMany", RWO: "ReadWriteOnce", RWOP: "ReadWriteOncePod" },
};
/** What external-attacher and external-resizer test (TestGetVolumeCapabilities); `ERROR`: there is no mode for these. */
const ROWS: readonly (readonly [modes: string, plain: string, fine: string])[] = [
  ["RWX", "MULTI_NODE_MULTI_WRITER", "MULTI_NODE_MULTI_WRITER"],
  ["RWO", "SINGLE_NODE_WRITER", "SINGLE_NODE_MULTI_WRITER"],
  ["ROX", "MULTI_NODE_READER_ONLY", "MULTI_NODE_READER_ONLY"],
  ["RWOP", "SINGLE_NODE_WRITER", "SINGLE_NODE_SINGLE_WRITER"],
  ["RWX ROX RWO", "MULTI_NODE_MULTI_WRITER", "MULTI_NODE_MULTI_WRITER"],
  ["ROX RWO", "ERROR", "ERROR"],
  ["ROX RWOP", "ERROR", "ERROR"],
  ["RWO RWOP", "ERROR", "ERROR"],
  ["RWX RWOP", "ERROR", "ERROR"],
  ["", "ERROR", "ERROR"],
  ["Nonsense", "ERROR", "ERROR"],
];
for (const [modes, plain, fine] of ROWS)
  test(`one mode for a set of modes: ${modes}`, () => {
    const set = modes.split(" ").flatMap((mode) => (mode === "" ? [] : [SHORT[mode] ?? mode]));
    const chosen = (isFine: boolean) => {
      const found = chooseMode(set, isFine);
      return "error" in found ? "ERROR" : found.mode;
    };
    assert.deepEqual([chosen(false), chosen(true)], [plain, fine]);
  });
