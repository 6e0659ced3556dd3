import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const UNTRACKED = fileURLToPath(new URL("../../scripts/lib/tests/untracked.cjs", import.meta.url));

/** Runs a file of tests as the runner does. */
async function run(body: string): Promise<{ code: number | null; output: string }> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-runner-"));
  try {
    const file = join(folder, "a.test.mjs");
    await writeFile(file, `import { after, describe, test } from "node:test";\n${body}`);
    // Inside of a test it would report to that one, and not end with a code of its own.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const args = [`--require=${UNTRACKED}`, "--test-reporter=spec", file];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: "utf8" });
    return { code: status, output: stdout + stderr };
  } finally {
    await rm(folder, { recursive: true });
  }
}

const PASSES = 'test("passes", async () => { await new Promise((resolve) => setTimeout(resolve, 100)); });';

test("an error that nobody has caught fails its file, wherever it came from", async () => {
  assert.equal((await run(PASSES)).code, 0);
  for (const late of [
    'setTimeout(() => { throw new Error("late"); }, 10);',
    'void Promise.reject(new Error("late"));',
  ]) {
    const { code, output } = await run(`test("leaves", () => { ${late} });\n${PASSES}`);
    assert.notEqual(code, 0, output);
    assert.match(output, /late/);
  }
});

test("tests are in their suite, and what comes after a suite comes", async () => {
  const { code, output } = await run(
    `describe("suite", () => { after(() => console.log("put away")); ${PASSES} });`,
  );
  assert.equal(code, 0, output);
  assert.match(output, /▶ suite\n {2}✔ passes/);
  assert.match(output, /^put away$/m);
});
