import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const MODULE = new URL("../../scripts/lib/one-at-a-time.mjs", import.meta.url).href;
const PROGRAM = `
import { appendFileSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { oneAtATime } from "${MODULE}";
const folder = process.env.FOLDER;
await oneAtATime(folder, async () => {
  for (const word of ["begin", "go", "end"]) {
    appendFileSync(folder + "/log", word + " ");
    await setImmediate();
  }
});`;

test("commands of a checkout that are started together set it up one after the other", async () => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-set-up-"));
  try {
    const args = ["--input-type=module", "-e", PROGRAM];
    const options = { stdio: "inherit" as const, env: { ...process.env, FOLDER: folder } };
    const all = Array.from({ length: 4 }, () => once(spawn(process.execPath, args, options), "exit"));
    for (const exit of await Promise.all(all)) assert.deepEqual(exit, [0, null]);
    assert.equal(await readFile(join(folder, "log"), "utf8"), "begin go end ".repeat(4));
  } finally {
    await rm(folder, { recursive: true });
  }
});
