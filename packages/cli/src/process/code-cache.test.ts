import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { build } from "esbuild";

const PROGRAM = `exports.words = () => ["warm", require("node:path").basename(__filename)];`;

/** A folder with a program, and what loads it in a process of its own: resolves with what that has printed. */
async function program(t: TestContext, text = PROGRAM) {
  const folder = await mkdtemp(join(tmpdir(), "mooring-code-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "part.cjs"), text);
  await build({
    stdin: {
      // A process that ends at once leaves nothing: this one makes it old.
      contents: `import { loadWithCodeCache } from "./code-cache.ts";
        if (process.argv[3] !== "young") process.uptime = () => 60;
        console.log(loadWithCodeCache("part.cjs", process.argv[2]).words().join(" "));`,
      resolveDir: import.meta.dirname,
    },
    bundle: true,
    platform: "node",
    format: "esm",
    outfile: join(folder, "main.mjs"),
    logLevel: "warning",
  });
  const run = async (purpose: string, ...args: string[]) => {
    const own = args.filter((arg) => arg.startsWith("--"));
    const others = args.filter((arg) => !arg.startsWith("--"));
    const { stdout } = await promisify(execFile)(process.execPath, [
      ...[...own, join(folder, "main.mjs"), purpose, ...others],
    ]);
    return stdout.trim();
  };
  const caches = async () => (await readdir(folder)).filter((name) => name.includes(".cache")).sort();
  return { folder, run, caches };
}

const identity = async (path: string) => (await stat(path)).ino;

test("a program leaves what it has compiled for the next process, which leaves it as it is", async (t) => {
  const { folder, run, caches } = await program(t);
  assert.equal(await run("up"), "warm part.cjs");
  const [cache = ""] = await caches();
  assert.match(cache, /^part\.cjs\.up-[0-9a-f]+\.cache$/);
  const before = await identity(join(folder, cache));
  assert.equal(await run("up"), "warm part.cjs");
  assert.deepEqual(await caches(), [cache]);
  assert.equal(await identity(join(folder, cache)), before, "V8 has taken it");
  await run("node");
  assert.equal((await caches()).length, 2, "each command has its own");
});

test("a cache that V8 does not take is replaced, and the program runs all the same", async (t) => {
  const { folder, run, caches } = await program(t);
  await run("up");
  const path = join(folder, (await caches())[0] ?? "");
  const good = await readFile(path);
  for (const bad of [Buffer.alloc(0), Buffer.alloc(good.length), good.subarray(0, good.length >> 1)]) {
    await writeFile(path, bad);
    assert.equal(await run("up"), "warm part.cjs");
    const { length } = await readFile(path);
    assert.ok(length > 0 && Math.abs(length - good.length) < good.length / 2, `${length} of ${good.length}`);
  }
});

test("a process that ends at once, or one that reads source maps, leaves none", async (t) => {
  const { run, caches } = await program(t);
  assert.equal(await run("up", "young"), "warm part.cjs");
  assert.equal(await run("up", "--enable-source-maps"), "warm part.cjs");
  assert.deepEqual(await caches(), []);
});

/** Prints how many MiB the young generation has, and the old one at most, after much has been made that lives for a while. */
const MAKES_MUCH = `
  const space = (name) => require("node:v8").getHeapSpaceStatistics().find((each) => each.space_name === name).space_size / 2 ** 20;
  let [kept, largest] = [[], 0];
  for (let round = 0; round < 300; round++) {
    for (let each = 0; each < 5_000; each++) kept.push({ round, each });
    if (kept.length > 500_000) kept = kept.slice(250_000);
    largest = Math.max(largest, space("old_space"));
  }
  exports.words = () => [Math.round(space("new_space")), Math.round(largest)];`;

test("while the program of a control plane begins, the young generation does not grow, and the old one less", async (t) => {
  const { run } = await program(t, MAKES_MUCH);
  const spaces = async (purpose: string) => (await run(purpose, "young")).split(" ").map(Number);
  const [young = 0, old = 0] = await spaces("controller");
  const [youngElse = 0, oldElse = 0] = await spaces("up");
  assert.ok(young <= 8 && youngElse > 8, `${young} and ${youngElse} MiB`);
  assert.ok(old < oldElse * 0.75, `${old} and ${oldElse} MiB`);
});
