#!/usr/bin/env node
// `npm run manifests`: writes deploy/manifests from deploy/chart.
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { MANIFESTS, renderManifests } from "./lib/manifests.mjs";
import { say } from "./lib/say.mjs";

const files = await renderManifests();
await mkdir(MANIFESTS, { recursive: true });
for (const name of await readdir(MANIFESTS)) if (!files.has(name)) await rm(join(MANIFESTS, name));
for (const [name, text] of files) await writeFile(join(MANIFESTS, name), text);
say(`deploy/manifests: ${[...files.keys()].sort().join(", ")}`);
