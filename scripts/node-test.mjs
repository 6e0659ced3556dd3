#!/usr/bin/env node
// Runs the tests below the given folders (default: all packages, test/ and examples/) from source, without a build.
// Everything that begins with `--` goes to node.
import { spawn } from "node:child_process";
import { readdir, stat } from "node:fs/promises";
import { join, resolve, sep } from "node:path";

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

/** What is tested here touches nothing but folders and sockets of its own. */
const APART = [
  ...["csi", "sidecars", "store", "engine/src/arbiter"],
  ...["apiserver", "builtin", "controllers", "crd", "schema"].map((name) => `standalone/src/${name}`),
].map((name) => resolve("packages", name) + sep);
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
// What failed is told once more at the end, also where nobody watches a terminal: a log of CI is read from its end.
const reporter = flags.some((flag) => flag.startsWith("--test-reporter")) ? [] : ["--test-reporter=spec"];
// A file that waits for ever is named, instead of keeping a run from its end; the long proofs take their time.
const limit = process.env.MOORING_DEEP === "1" ? [] : ["--test-timeout=900000"];
const run = (some, ...more) =>
  new Promise((done) => {
    const own = ["--conditions=mooring-source", "--import", "tsx", "--test", ...reporter, ...limit];
    const child = spawn(process.execPath, [...own, ...more, ...flags, ...some.sort()], { stdio: "inherit" });
    child.on("exit", (code, signal) => done(signal === null ? (code ?? 1) : 1));
  });

// Whoever mounts sees everybody's mounts: such files run one after the other, the rest side by side.
const alone = files.filter((file) => !APART.some((folder) => file.startsWith(folder)));
const apart = files.filter((file) => !alone.includes(file));
const codes = [];
if (apart.length > 0) codes.push(await run(apart, "--test-concurrency=2"));
if (alone.length > 0) codes.push(await run(alone, "--test-concurrency=1"));
process.exit(Math.max(...codes));
