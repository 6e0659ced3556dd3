#!/usr/bin/env node
// Writes docs/reference/attachment-states.md from the tables of the engine. `--check` only reports whether it is up to date.
import { join } from "node:path";
import { run } from "./lib/run.mjs";
import { ROOT } from "./lib/setup.mjs";

const main = join(ROOT, "scripts/lib/attachment-states.mjs");
const flags = ["--conditions=mooring-source", "--import", "tsx"];
process.exit(await run(process.execPath, [...flags, main, ...process.argv.slice(2)], { cwd: ROOT }));
