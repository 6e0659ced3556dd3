#!/usr/bin/env node
// `npm test`: set the machine up, then every test that needs nothing but this machine.
import { join } from "node:path";
import { run } from "./lib/run.mjs";
import { ROOT, setUp } from "./lib/setup.mjs";

await setUp("npm test");
process.exit(
  await run(process.execPath, [join(ROOT, "scripts/node-test.mjs"), ...process.argv.slice(2)], { cwd: ROOT }),
);
