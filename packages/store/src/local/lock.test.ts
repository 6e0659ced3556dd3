import assert from "node:assert/strict";
import { rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "../testing/temp-folder.ts";
import { lockFolder } from "./lock.ts";

test("a folder whose owner cannot be written down is locked by no process afterwards", async (t) => {
  const folder = await tempFolder(t);
  const owner = join(folder, "owner");
  await symlink(join(folder, "missing", "owner"), owner);
  await assert.rejects(lockFolder(folder), { code: "ENOENT" });
  await rm(owner);
  await (await lockFolder(folder))();
});
