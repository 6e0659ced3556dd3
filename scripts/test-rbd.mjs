#!/usr/bin/env node
// `npm run test:rbd`: everything that is proved of volumes in a Ceph cluster, in one command: the contract of pools, kills between
// commands, takeover from lost nodes, live migration, shared volumes, groups, random requests, images that are taken in, pods while parts of the cluster are gone,
// and csi-sanity with nothing skipped. `-- --short`: the contract, a takeover and a migration. The cluster is the tests' own; Debian's
// packages are installed when they are missing. Where that cannot be done it says what is needed, and ends with 3.
import { join } from "node:path";
import { parseArgs } from "node:util";
import { run } from "./lib/run.mjs";
import { checkPackages, ROOT } from "./lib/setup.mjs";

const SHORT = [
  "packages/engine/src/pools/rbd/rbd.test.ts",
  "packages/engine/src/node/shut-out/shut-out.test.ts",
  "packages/engine/src/node/migration/rbd.test.ts",
];
// The last one takes minutes by the clock, and is run by this command only.
const LONG = [
  "packages/engine/src/pools/rbd/crash.test.ts",
  "packages/engine/src/pools/rbd/full.test.ts",
  "packages/engine/src/pools/rbd/features.test.ts",
  "packages/engine/src/pools/rbd/keys.test.ts",
  "packages/engine/src/pools/rbd/sectors.test.ts",
  "packages/engine/src/pools/rbd/import/survey.test.ts",
  "packages/engine/src/node/shut-out/crash.test.ts",
  "packages/engine/src/node/group-snapshot/ceph.test.ts",
  "packages/engine/src/node/share/ceph.test.ts",
  "test/e2e/rbd-pool.test.ts",
  "test/e2e/rbd-import.test.ts",
  "test/rbd/fuzz.test.ts",
  "test/rbd/faults.ts",
];
const NODE = ["--conditions=mooring-source", "--import", "tsx"];

const { values } = parseArgs({ options: { short: { type: "boolean", default: false } } });

/** With a cluster, for as long as a command runs; without one it is only looked whether there can be a cluster. */
const withCluster = (...command) =>
  run(process.execPath, [...NODE, join(ROOT, "test/rbd/support/with-cluster.ts"), ...command], { cwd: ROOT });

async function steps() {
  // Without Ceph the tests would be skipped, and look as if all were well.
  const there = await withCluster();
  if (there !== 0) return there;
  const files = values.short ? SHORT : [...SHORT, ...LONG];
  const tests = await run(process.execPath, [join(ROOT, "scripts/node-test.mjs"), "--part=all", ...files], {
    cwd: ROOT,
  });
  if (tests !== 0 || values.short) return tests;
  return withCluster(process.execPath, join(ROOT, "test/conformance/csi-sanity.mjs"), "--pool", "rbd");
}

await checkPackages();
process.exit(await steps());
