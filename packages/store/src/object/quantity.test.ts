import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatQuantity, parseMilli, parseQuantity } from "./quantity.ts";
import { isStatus } from "./status-error.ts";

test("quantities as Kubernetes writes them", () => {
  const cases: [string | number, bigint][] = [
    ["0", 0n],
    [1024, 1024n],
    ["5Gi", 5n << 30n],
    ["1.5Gi", 3n << 29n],
    ["0.1Ki", 103n],
    ["1Ei", 1n << 60n],
    ["2k", 2_000n],
    ["3M", 3_000_000n],
    ["1E", 10n ** 18n],
    ["1e3", 1_000n],
    ["1E3", 1_000n],
    ["12e-1", 2n],
    ["1500m", 2n],
    ["1n", 1n],
    [".5k", 500n],
    ["+7", 7n],
    ["-1Ki", -1024n],
    ["9223372036854775807", 9223372036854775807n],
  ];
  for (const [text, bytes] of cases) assert.equal(parseQuantity(text), bytes, String(text));
  assert.equal(parseMilli("250m"), 250n);
  assert.equal(parseMilli("2"), 2000n);
});

test("what is not a quantity is refused", () => {
  for (const text of ["", "Gi", "1GB", "1 Gi", "--1", "1.2.3", "0x10", "1e", "∞", "1ki", "."]) {
    assert.throws(
      () => parseQuantity(text),
      (error) => isStatus(error, "BadRequest"),
      JSON.stringify(text),
    );
  }
});

test("a quantity of more characters than any needs is refused before its digits are read", () => {
  assert.equal(parseQuantity("1".repeat(100)), BigInt("1".repeat(100)));
  for (const text of ["1".repeat(101), `0.${"0".repeat(3_000_000)}1`, `${"1".repeat(3_000_000)}Ei`])
    assert.throws(
      () => parseQuantity(text),
      (error) => isStatus(error, "BadRequest") && error.message.length < 300,
    );
});

test("formatting and parsing are each other's reverse", () => {
  assert.deepEqual([5n << 30n, 1536n, 1000n, 0n, -2048n].map(formatQuantity), [
    "5Gi",
    "1536",
    "1000",
    "0",
    "-2Ki",
  ]);
  fc.assert(
    fc.property(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), (bytes) => {
      assert.equal(parseQuantity(formatQuantity(bytes)), bytes);
    }),
  );
});
