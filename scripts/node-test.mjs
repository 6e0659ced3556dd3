#!/usr/bin/env node
// Runs the tests below the given folders (default: all packages, test/ and examples/) as they are in the sources.
// Everything that begins with `--` goes to node.
import { readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { bundle } from "./lib/bundle.mjs";
import { compileTests } from "./lib/compile-tests.mjs";
import { laneOf, runLanes } from "./lib/lanes.mjs";

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

const defaults = ["packages", "test", "examples"];
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
// Many start the command itself.
await bundle();
const compiled = await compileTests(files);
const lanes = new Map();
for (const file of files.sort()) {
  const lane = laneOf(file);
  lanes.set(lane, [...(lanes.get(lane) ?? []), compiled.pathOf(file)]);
}
const codes = [];
for (const names of [["apart"], ["machine", "nodes"], ["clock"]]) {
  const group = names.flatMap((name) => (lanes.has(name) ? [{ files: lanes.get(name), name }] : []));
  codes.push(...(await runLanes(group, flags)));
}
await compiled.remove();
process.exit(Math.max(...codes));
