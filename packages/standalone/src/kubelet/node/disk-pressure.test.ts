import assert from "node:assert/strict";
import { test } from "node:test";
import { shortOf } from "./disk-pressure.ts";

const MIB = 1024 ** 2;
const disk = { bsize: MIB, blocks: 1000, bfree: 100, bavail: 100, files: 0, ffree: 0 };

test("a disk is under pressure with less than a twentieth of its bytes or files, what only root may take left out", () => {
  assert.equal(shortOf("/s", disk), undefined);
  assert.equal(shortOf("/s", { ...disk, bavail: 40 }), "the disk of /s has 40 MiB free");
  assert.equal(shortOf("/s", { ...disk, files: 100, ffree: 5 }), undefined);
  assert.equal(shortOf("/s", { ...disk, files: 100, ffree: 4 }), "the disk of /s has room for 4 more files");
});
