#!/usr/bin/env node
// Runs the tests below the given files and folders (default: all packages, test/ and examples/) as they are in the sources.
//   --changed[=REF]       only those that what differs from REF can reach (default: from the branch that it will land on)
//   --part=everyday|rest|all   `npm test`, what that leaves to `npm run test:rest`, or both
//   --jobs=N              as many files side by side as N processors can do
//   --in-turn             of the rest every second file that has no turn of its own, the others tomorrow
//   --record              write docs/conformance-results.json
//   --keep-times          write scripts/lib/tests/times.json, by which a new clone begins its longest files first
//   --show                show what every file prints, not only what failed
// Everything else that begins with `--` goes to node.
import { checkPackages } from "./lib/setup.mjs";
import { parseArguments } from "./lib/tests/arguments.mjs";
import { runTests } from "./lib/tests/run.mjs";

// Else the first test that starts `./mooring` would bring them up to date under all others.
await checkPackages();
process.exit(await runTests(parseArguments(process.argv.slice(2))));
