import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseMountinfo, unescapeOctal } from "./mountinfo.ts";

test("a line with optional fields and escapes", () => {
  const line =
    "36 35 98:0 /mnt1 /mnt/a\\040b\\134c rw,noatime master:1 shared:2 - ext3 /dev/ro\\011ot rw,errors=continue";
  assert.deepEqual(parseMountinfo(`${line}\n`), [
    {
      id: 36,
      parentId: 35,
      device: "98:0",
      root: "/mnt1",
      target: "/mnt/a b\\c",
      options: ["rw", "noatime"],
      fsType: "ext3",
      source: "/dev/ro\tot",
      superOptions: ["rw", "errors=continue"],
    },
  ]);
});

test("lines of another shape are left out", () => {
  assert.deepEqual(parseMountinfo("\nnonsense\n1 2 3:4 /\n"), []);
});

test("unescaping reverses the kernel's escapes", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(" ", "\t", "\n", "\\", "a", "/", "0")), (parts) => {
      const text = parts.join("");
      const escaped = text.replace(/[ \t\n\\]/g, (c) => `\\${c.charCodeAt(0).toString(8).padStart(3, "0")}`);
      assert.equal(unescapeOctal(escaped), text);
    }),
  );
});
