import assert from "node:assert/strict";
import { link, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { folderOf } from "../testing/api.ts";
import { readyFile } from "./ready-file.ts";

test("a ready file is there whole, or not at all", async (t) => {
  const folder = await folderOf(t);
  const path = join(folder, "ready");
  await writeFile(path, "earlier\n");
  // Who has the earlier one open goes on reading that.
  await link(path, join(folder, "open"));
  await (await readyFile(path)).write({ pid: 7 });
  assert.equal(await readFile(path, "utf8"), '{"pid":7}\n');
  assert.equal(await readFile(join(folder, "open"), "utf8"), "earlier\n");
  assert.deepEqual((await readdir(folder)).sort(), ["open", "ready"]);
});
