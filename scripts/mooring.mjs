#!/usr/bin/env node
// `./mooring`: the command from a checkout. The process that runs is this one: its pid is the daemon's.
import { bundle } from "./lib/bundle.mjs";
import { checkPackages } from "./lib/setup.mjs";

await checkPackages();
await import(await bundle());
