#!/usr/bin/env node
// `npm run bench`: every measurement, as ratios to a baseline taken in the same run. Table on stdout; `--json` for data.
import { join } from "node:path";
import { bundle } from "./lib/bundle.mjs";
import { run } from "./lib/run.mjs";
import { ROOT, setUp } from "./lib/setup.mjs";

await setUp("npm run bench", [
  { command: "fio", package: "fio", why: "measures the data path of volumes against a plain file" },
]);
await bundle();
const main = join(ROOT, "test/bench/main.ts");
const flags = ["--conditions=mooring-source", "--import", "tsx"];
process.exit(await run(process.execPath, [...flags, main, ...process.argv.slice(2)], { cwd: ROOT }));
