#!/usr/bin/env node
// `npm run test:rbd`: everything that is proved of volumes in a Ceph cluster, in one command: the contract of pools, kills between
// commands, takeover from lost nodes, live migration, shared volumes, groups, random requests, images that are taken in, pods while parts of the cluster are gone,
// and csi-sanity with nothing skipped. `-- --short`: the contract, takeovers and a migration. The cluster is the tests' own; Debian's
// packages are installed when they are missing. Where that cannot be done it says what is needed, and ends with 3.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { run } from "./lib/run.mjs";
import { checkPackages, ROOT } from "./lib/setup.mjs";
import { findTests } from "./lib/tests/find.mjs";
import { RBD_SHORT } from "./lib/tests/rbd-short.mjs";

/** It takes minutes by the clock, and is run by this command only. */
const FAULTS = "test/rbd/faults.ts";
const NODE = ["--conditions=mooring-source", "--import", "tsx"];

const { values } = parseArgs({ options: { short: { type: "boolean", default: false } } });

/** With a cluster, for as long as a command runs; without one it is only looked whether there can be a cluster. */
const withCluster = (...command) =>
  run(process.execPath, [...NODE, join(ROOT, "test/rbd/support/with-cluster.ts"), ...command], { cwd: ROOT });

/** Every test file that asks for a cluster. */
async function withTests() {
  const files = await findTests([]);
  const texts = await Promise.all(files.map((file) => readFile(file, "utf8")));
  return files.filter((_, index) => texts[index].includes("await withCeph()"));
}

async function steps() {
  // Without Ceph the tests would be skipped, and look as if all were well.
  const there = await withCluster();
  if (there !== 0) return there;
  const files = values.short ? RBD_SHORT : [...(await withTests()), FAULTS];
  const tests = await run(process.execPath, [join(ROOT, "scripts/node-test.mjs"), "--part=all", ...files], {
    cwd: ROOT,
  });
  if (tests !== 0 || values.short) return tests;
  return withCluster(process.execPath, join(ROOT, "test/conformance/csi-sanity.mjs"), "--pool", "rbd");
}

await checkPackages();
process.exit(await steps());
