import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { findRunc } from "./runc.ts";

test("the first runc that can be run is taken, wherever the distribution put it", async () => {
  const folder = await mkdtemp("/tmp/mooring-runc-");
  const folders = ["none", "text", "first", "second"].map((name) => join(folder, name));
  try {
    assert.equal(findRunc(folders), undefined);
    for (const each of folders.slice(1)) {
      await mkdir(each);
      await writeFile(join(each, "runc"), "", { mode: each.endsWith("text") ? 0o644 : 0o755 });
    }
    assert.equal(findRunc(folders), join(folder, "first/runc"));
  } finally {
    await rm(folder, { recursive: true });
  }
});
