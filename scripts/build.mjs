#!/usr/bin/env node
// Checks all types, emits every package's dist folder, and bundles the `mooring` command.
import { bundle } from "./lib/bundle.mjs";
import { run } from "./lib/run.mjs";
import { ROOT } from "./lib/setup.mjs";

const exit = await run("npx", ["tsc", "-b"], { cwd: ROOT });
if (exit !== 0) process.exit(exit);
await bundle({ force: true });
