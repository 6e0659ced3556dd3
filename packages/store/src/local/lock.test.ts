import assert from "node:assert/strict";
import { mkdir, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "../testing/temp-folder.ts";
import { lockFolder } from "./lock.ts";

test("a folder whose owner cannot be written down is locked by no process afterwards", async (t) => {
  const folder = await tempFolder(t);
  await mkdir(join(folder, "owner"));
  await assert.rejects(lockFolder(folder), { code: "EISDIR" });
  await rmdir(join(folder, "owner"));
  await (await lockFolder(folder))();
});
