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
  const starting = join("/run/mooring", `${name}-starting`);
  try {
    assert.ok((await other.hidden()).includes(folder));
    // In this order: every Mooring on the machine takes away what is unused.
    await mkdir(left.bundle("running"));
    await rm(folder, { recursive: true });
    assert.ok(!(await other.hidden()).includes(folder));
    assert.equal(await there(), true, "a container may run from it");
    await rm(left.bundle("running"), { recursive: true });
    await other.hidden();
    assert.equal(await there(), false);
    await mkdir(join(starting, "bundles"), { recursive: true });
    await other.hidden();
    assert.deepEqual(await readdir(starting), ["bundles"], "its owner has not noted yet what it hides");
  } finally {
    for (const each of [name, `${name}-other`, `${name}-starting`])
      await rm(join("/run/mooring", each), { recursive: true, force: true });
    await rm(folder, { recursive: true, force: true });
  }
});
