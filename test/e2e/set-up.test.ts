import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

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

test("a conformance suite gets the options that follow its name; what is no suite is refused with the names", async () => {
  const script = fileURLToPath(new URL("../../scripts/test-conformance.mjs", import.meta.url));
  const run = async (...args: string[]) => {
    const child = spawn(process.execPath, [script, ...args], { stdio: ["ignore", "ignore", "pipe"] });
    let output = "";
    child.stderr.on("data", (text) => {
      output += text;
    });
    const [code] = (await once(child, "close")) as [number];
    return { code, output };
  };
  const flagsOnly = await run("--pool", "minimal");
  assert.equal(flagsOnly.code, 2);
  assert.match(flagsOnly.output, /csi-sanity\|group-client\|client-go\|nfs-client/);
  const passed = await run("csi-sanity", "--no-such-option");
  assert.notEqual(passed.code, 0);
  assert.match(passed.output, /Unknown option '--no-such-option'/);
});
