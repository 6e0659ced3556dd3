#!/usr/bin/env node
// In a checkout the command is bundled from source when a source has changed; an installed package has its dist.
import { existsSync } from "node:fs";

const fromCheckout = new URL("../../../scripts/mooring.mjs", import.meta.url);
await import(existsSync(fromCheckout) ? fromCheckout.href : new URL("../dist/main.js", import.meta.url).href);
