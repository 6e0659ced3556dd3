import assert from "node:assert/strict";
import { test } from "node:test";
import { describeBytes } from "./describe-bytes.ts";

test("sizes are shown in the largest unit that they have one of, with a decimal where they are not whole", () => {
  const shown: [number | bigint, string][] = [
    [0, "0 B"],
    [1000, "1000 B"],
    [1536, "1.5 KiB"],
    [20n * 1024n ** 3n, "20 GiB"],
    [2 * 1024 ** 3 - 1, "2.0 GiB"],
    [1024 ** 3 - 1, "1.0 GiB"],
    [3 * 1024 ** 5, "3 PiB"],
    [5000 * 1024 ** 5, "5000 PiB"],
  ];
  for (const [bytes, text] of shown) assert.equal(describeBytes(bytes), text);
});
