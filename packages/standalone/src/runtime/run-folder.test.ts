import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { test } from "node:test";
import { openRunFolder } from "./run-folder.ts";

test("what a killed Mooring left in memory goes with its state folder, unless a container runs from it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "run-folder-"));
  const name = `mooring-test-${basename(folder)}`;
  const left = await openRunFolder(name, [folder]);
  const other = await openRunFolder(`${name}-other`, [tmpdir()]);
  const there = async () => (await readdir("/run/mooring")).includes(name);
  try {
    assert.ok((await other.hidden()).includes(folder));
    await rm(folder, { recursive: true });
    await mkdir(left.bundle("running"));
    assert.ok(!(await other.hidden()).includes(folder));
    assert.equal(await there(), true, "a container may run from it");
    await rm(left.bundle("running"), { recursive: true });
    await other.hidden();
    assert.equal(await there(), false);
  } finally {
    for (const each of [name, `${name}-other`])
      await rm(join("/run/mooring", each), { recursive: true, force: true });
    await rm(folder, { recursive: true, force: true });
  }
});
