#!/usr/bin/env node
// `npm run demo`: set the machine up, then `mooring demo`. Arguments after `--` go to it.
import { bundle } from "./lib/bundle.mjs";
import { run } from "./lib/run.mjs";
import { setUp } from "./lib/setup.mjs";

await setUp("npm run demo");
process.exit(
  await run(process.execPath, ["--enable-source-maps", await bundle(), "demo", ...process.argv.slice(2)]),
);
