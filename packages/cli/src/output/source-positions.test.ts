import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { build } from "esbuild";
import { withSourcePositions } from "./source-positions.ts";

const SOURCE = `export interface Unused { a: string }

export function fails(): never {
  throw new Error("as it should");
}
fails();
`;

test("a stack has the positions of the sources when the program has a map, and is as it was without", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-positions-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const source = join(folder, "fails.ts");
  await writeFile(source, SOURCE);
  const program = join(folder, "program.mjs");
  await build({
    entryPoints: [source],
    outfile: program,
    format: "esm",
    sourcemap: "linked",
    minifyWhitespace: true,
  });
  const { stderr } = (await promisify(execFile)(process.execPath, [program]).catch((error) => error)) as {
    stderr: string;
  };
  const stack = stderr.slice(stderr.indexOf("Error: as it should"));
  assert.match(stack, /program\.mjs:1:/, "the test has a stack of the program");
  const mapped = withSourcePositions(stack);
  const path = relative(process.cwd(), source);
  assert.ok(mapped.includes(`at fails (${path}:4:9)`), mapped);
  assert.ok(mapped.includes(`${path}:6:1`), mapped);
  await rm(`${program}.map`);
  assert.equal(withSourcePositions(stack), stack);
});
