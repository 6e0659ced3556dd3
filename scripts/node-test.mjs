#!/usr/bin/env node
// Runs the tests below the given files and folders (default: all packages, test/ and examples/) as they are in the sources.
// What else it can be asked for is in lib/tests/help.mjs.
import { checkPackages } from "./lib/setup.mjs";
import { parseArguments } from "./lib/tests/arguments.mjs";
import { helpIfAsked } from "./lib/tests/help.mjs";
import { runTests } from "./lib/tests/run.mjs";

helpIfAsked("npm run unit", process.argv.slice(2));
// Else the first test that starts `./mooring` would bring them up to date under all others.
await checkPackages();
process.exit(await runTests(parseArguments(process.argv.slice(2))));
