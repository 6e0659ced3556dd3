#!/usr/bin/env node
// `npm run test:kernels`: nodes that are machines with kernels of their own (User Mode Linux), and one Ceph cluster. Installs what is
// missing. `-- --short`: one round of each; `-- --rounds=100`: so many power cuts; `-- --snapshots=200`: so many group
// snapshots of each group; `-- --only=REGEX`: checks whose title has it. Where no guest can run it says why, and that nothing was tested.
import { join } from "node:path";
import { bundle } from "./lib/bundle.mjs";
import { setUpGuests } from "./lib/guest-packages.mjs";
import { run } from "./lib/run.mjs";
import { ROOT } from "./lib/setup.mjs";

await setUpGuests("npm run test:kernels");
await bundle();
const main = join(ROOT, "test/kernels/main.ts");
const flags = ["--conditions=mooring-source", "--import", "tsx"];
process.exit(await run(process.execPath, [...flags, main, ...process.argv.slice(2)], { cwd: ROOT }));
