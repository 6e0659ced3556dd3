import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** One signal of a time limit and of others, of which Node.js 20 forgets the time limit. */
const MIXED = /AbortSignal\.any\(\s*\[[^\]]*AbortSignal\.timeout\(/;
/** In what ships, any: the code that is given the signal may mix it. A mixed one stays in those of a whole process. */
const ANY = /AbortSignal\.(timeout|any)\(/;
/** Mix signals that end with them, or once in the life of a process, a term or a kind. */
const MAY_MIX = [
  ...["driver/src/serve", "engine/src/node/index", "store/src/controller/lease"],
  ...["leader", "start", "term"].map((name) => `sidecars/src/${name}`),
  ...["controllers/garbage-collector/monitors", "node-streams/cluster-streams"].map(
    (name) => `standalone/src/${name}`,
  ),
].map((name) => `packages/${name}.ts`);

test("signals are mixed by `firstOf` and `within`: a timeout in one of AbortSignal.any gets lost, and others keep it for ever", async () => {
  assert.match("AbortSignal.any([\n  signal,\n  AbortSignal.timeout(1000),\n])", MIXED);
  assert.doesNotMatch("AbortSignal.any([signal, stop]); f(AbortSignal.timeout(1000))", MIXED);
  const wrong: string[] = [];
  for (const folder of ["packages", "test", "scripts"]) {
    for (const entry of await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true })) {
      const path = relative(ROOT, join(entry.parentPath, entry.name));
      if (!entry.isFile() || !/\.m?tsx?$|\.mjs$/.test(path) || path.endsWith("time-limits.test.ts")) continue;
      if (/\/(node_modules|dist|gen)\//.test(path)) continue;
      const ships =
        folder === "packages" &&
        !/\/(testing|crash|fuzz)\/|\.test\.ts$/.test(path) &&
        !MAY_MIX.includes(path);
      const code = (await readFile(join(ROOT, path), "utf8")).replace(/^\s*\*.*$/gm, "");
      const found = (ships ? ANY : MIXED).exec(code);
      if (found !== null) wrong.push(`${path}: ${found[0].replace(/\s+/g, " ")}`);
    }
  }
  assert.deepEqual(wrong, []);
});
