#!/usr/bin/env node
// Runs the tests below the given folders (default: all packages and test/) from source, without a build.
// `--concurrency N` says how many files run side by side; everything else that begins with `--` goes to node.
import { spawn } from "node:child_process";
import { readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";

const args = process.argv.slice(2);
const flags = args.filter((a) => a.startsWith("--"));
const roots = args.filter((a) => !a.startsWith("--"));
const SKIP = new Set(["node_modules", "dist", "gen", ".cache", ".git"]);

async function find(path) {
  const info = await stat(path);
  if (info.isFile()) return [path];
  const entries = await readdir(path, { withFileTypes: true });
  const found = await Promise.all(
    entries.map((entry) => {
      if (entry.isDirectory()) return SKIP.has(entry.name) ? [] : find(join(path, entry.name));
      return entry.name.endsWith(".test.ts") ? [join(path, entry.name)] : [];
    }),
  );
  return found.flat();
}

const defaults = ["packages", "test"];
const files = [];
for (const root of roots.length > 0 ? roots : defaults) {
  try {
    files.push(...(await find(resolve(root))));
  } catch (error) {
    if (roots.length > 0) throw error;
  }
}
if (files.length === 0) {
  process.stderr.write(`no *.test.ts below ${roots.join(" ") || defaults.join(" ")}\n`);
  process.exit(1);
}
// What failed is told once more at the end, also where nobody watches a terminal: a log of CI is read from its end.
const reporter = flags.some((flag) => flag.startsWith("--test-reporter")) ? [] : ["--test-reporter=spec"];
const child = spawn(
  process.execPath,
  ["--conditions=mooring-source", "--import", "tsx", "--test", ...reporter, ...flags, ...files.sort()],
  { stdio: "inherit" },
);
child.on("exit", (code, signal) => process.exit(signal === null ? (code ?? 1) : 1));
