#!/usr/bin/env node
// `npm run test:conformance`: the suites of others against Mooring, one after the other, until one fails.
// `npm run test:conformance -- csi-sanity --pool minimal` runs one of them, with what follows its name.
import { join } from "node:path";
import { run } from "./lib/run.mjs";
import { ROOT } from "./lib/setup.mjs";

const SUITES = ["csi-sanity", "group-client", "client-go", "nfs-client"];

const [name, ...args] = process.argv.slice(2);
if (name !== undefined && !SUITES.includes(name)) {
  process.stderr.write(
    `${name} is no suite\nnext: npm run test:conformance -- ${SUITES.join("|")} [OPTIONS], or without any for all\n`,
  );
  process.exit(2);
}
for (const suite of name === undefined ? SUITES : [name]) {
  const code = await run(process.execPath, [join(ROOT, "test/conformance", `${suite}.mjs`), ...args], {
    cwd: ROOT,
  });
  if (code !== 0) process.exit(code);
}
