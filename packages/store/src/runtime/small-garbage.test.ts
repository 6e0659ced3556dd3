import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { build } from "esbuild";

/**
 * Works with much that lives for a while, and prints MiB: of the young generation, and of the heap at its largest; and whether what
 * is compiled can be kept in the end for a process that begins as this one did.
 */
const PROGRAM = `
  import { keepGarbageSmall } from "./small-garbage.ts";
  import { cachedDataVersionTag, getHeapSpaceStatistics } from "node:v8";
  import { setImmediate as turn } from "node:timers/promises";
  const spaces = () => getHeapSpaceStatistics().map(({ space_name, space_size }) => [space_name, space_size / 2 ** 20]);
  const tag = cachedDataVersionTag();
  process.once("exit", () => console.log(JSON.stringify([young, largest, cachedDataVersionTag() === tag])));
  if (process.argv[2] === "small") keepGarbageSmall();
  let [kept, largest, young] = [[], 0, 0];
  for (let round = 0; round < 600; round++) {
    for (let each = 0; each < 2_000; each++) kept.push({ round, each, text: "text " + each, list: [each] });
    if (kept.length > 100_000) kept = kept.slice(50_000);
    await turn();
    largest = Math.max(largest, spaces().reduce((sum, [, size]) => sum + size, 0));
  }
  young = Object.fromEntries(spaces()).new_space;
`;

/** Prints how many MiB the young generation has before and after much has been made at once, of a process that has just begun. */
const BEGINS = `
  import { keepGarbageSmall } from "./small-garbage.ts";
  import { getHeapSpaceStatistics } from "node:v8";
  const young = () => getHeapSpaceStatistics().find((space) => space.space_name === "new_space").space_size / 2 ** 20;
  const kept = [];
  const make = () => kept.push({ list: [kept.length] });
  while (young() < 8) make();
  if (process.argv[2] === "small") keepGarbageSmall();
  const before = young();
  for (let each = 0; each < 1_000_000; each++) make();
  console.log(JSON.stringify([before, young()]));
`;

async function programOf<T>(t: TestContext, contents: string): Promise<(how: string) => Promise<T>> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-garbage-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const program = join(folder, "program.mjs");
  await build({
    stdin: { contents, resolveDir: import.meta.dirname },
    ...{ bundle: true, platform: "node", format: "esm", outfile: program, logLevel: "warning" },
  });
  return async (how) => JSON.parse((await promisify(execFile)(process.execPath, [program, how])).stdout);
}

test("a young generation that is large enough when the process begins does not grow once more", async (t) => {
  const run = await programOf<[before: number, after: number]>(t, BEGINS);
  const [before, after] = await run("small");
  // V8 makes it smaller where little of it outlives a collection.
  assert.ok(after <= before, `${before} and ${after} MiB`);
  const [beforeElse, afterElse] = await run("as ever");
  assert.ok(afterElse > beforeElse, `${beforeElse} and ${afterElse} MiB`);
});

test("a process that keeps its garbage small has a small young generation, and less of the old one", async (t) => {
  const run = await programOf<[young: number, largest: number, isKept: boolean]>(t, PROGRAM);
  const [young, largest, isKept] = await run("small");
  const [youngElse, largestElse] = await run("as ever");
  assert.ok(young <= 16 && youngElse > 16, `${young} and ${youngElse} MiB`);
  assert.ok(largest < largestElse * 0.9, `${largest} and ${largestElse} MiB`);
  assert.ok(isKept);
});
