#!/usr/bin/env node
// Breaks the arbiter in one place at a time, in a copy, and lets the random histories find it: each mutation of
// simulation/mutations.json has to be caught by one of the properties that it names. `--only TEXT`: those whose
// description has the text. Exit code 1: one was not caught.
import { spawn } from "node:child_process";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const SOURCE = join(ROOT, "packages/engine/src");
const COPY = join(ROOT, ".cache/mutants/src");
const HISTORIES = join(COPY, "simulation/histories.test.ts");
const only = process.argv[process.argv.indexOf("--only") + 1];
const all = JSON.parse(await readFile(join(SOURCE, "simulation/mutations.json"), "utf8"));
const chosen = process.argv.includes("--only") ? all.filter(({ what }) => what.includes(only)) : all;

await rm(COPY, { recursive: true, force: true });
await mkdir(dirname(COPY), { recursive: true });
await cp(SOURCE, COPY, { recursive: true });
let missed = 0;
for (const { what, file, from, to, caught } of chosen) {
  const path = join(COPY, file);
  const text = await readFile(path, "utf8");
  if (text.split(from).length !== 2) {
    missed += 1;
    process.stdout.write(`STALE    ${what}: its text is not once in ${file}\n`);
    continue;
  }
  await writeFile(
    path,
    text.replace(from, () => to),
  );
  const by = await propertyThatFails();
  await writeFile(path, text);
  const right = caught.includes(by);
  if (!right) missed += 1;
  process.stdout.write(`${right ? "caught  " : "MISSED  "} ${by.padEnd(4)} ${what}\n`);
}
await rm(COPY, { recursive: true, force: true });
process.exit(missed === 0 ? 0 : 1);

/** The name of the property that the first broken history breaks; empty: none was broken. */
function propertyThatFails() {
  return new Promise((resolve) => {
    const args = ["--conditions=mooring-source", "--import", "tsx", "--test-reporter=tap", HISTORIES];
    // What breaks a property at all breaks it in the short run.
    const env = { ...process.env, MOORING_DEEP: "", MOORING_TESTS: "all", NODE_TEST_CONTEXT: undefined };
    const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: ["ignore", "pipe", "ignore"] });
    let out = "";
    child.stdout.on("data", (data) => {
      out += data;
    });
    child.on("close", () => resolve(/^\s*(?:error: ['"]?)?(?:Error: )?([SLD]\d+): /m.exec(out)?.[1] ?? ""));
  });
}
