#!/usr/bin/env node
// Runs csi-sanity, the conformance suite of the Kubernetes CSI project, against `mooring driver` with real volumes.
// Needs root and Go: the suite is a Go program. Nothing may fail, be skipped or be left behind. `--pool minimal` is
// the driver of examples/driver-minimal instead, of which the suite may skip what it does not announce.
//
//   npm run test:conformance -- csi-sanity [--pool xfs,btrfs,minimal,rbd --access mount,block --runs 1 --seed N --keep]
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startDriver } from "./support/driver.mjs";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const MODULE = "github.com/kubernetes-csi/csi-test/v5/cmd/csi-sanity@v5.6.0";
const REMAINS_DEADLINE_MS = 30_000;
/** The driver of the tutorial: directories, mounted only. */
const EXAMPLE = "minimal";
/** Volumes in a Ceph cluster that `MOORING_RBD` names, as `npm run test:rbd` does. */
const CEPH = "rbd";
/** Each step of the suite runs programs of Ceph's: minutes where others take seconds. */
const SUITE_DEADLINES = { [CEPH]: "60m" };
/** Its cluster has a disk of 10 GiB, in which the suite fills a node with volumes. */
const SIZES = {
  [CEPH]: ["--csi.testvolumesize", String(512 * 1024 ** 2), "--csi.testvolumeexpandsize", String(1024 ** 3)],
};

const { values: options } = parseArgs({
  options: {
    pool: { type: "string", default: "xfs,btrfs,minimal" },
    access: { type: "string", default: "mount,block" },
    runs: { type: "string", default: "1" },
    seed: { type: "string" },
    keep: { type: "boolean", default: false },
    verbose: { type: "boolean", default: false },
  },
});

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

/** Ends with the program's exit code; its output goes to `sink` or to ours. */
function run(file, args, { env, sink } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ["ignore", sink ? "pipe" : "inherit", sink ? "pipe" : "inherit"],
    });
    if (sink) for (const stream of [child.stdout, child.stderr]) stream.on("data", sink);
    child.once("error", reject);
    child.once("exit", (code) => resolve(code ?? 1));
  });
}

/** The suite's program, built once per release of the suite into .cache. */
async function suite() {
  const folder = join(root, ".cache", "bin");
  await mkdir(folder, { recursive: true });
  // Without the network the program of an earlier run will do.
  const install = ["180", "go", "install", MODULE];
  const code = await run("timeout", install, { env: { GOBIN: folder, GOFLAGS: "-mod=mod" } });
  const program = join(folder, "csi-sanity");
  if (code === 127)
    fail("csi-sanity is a Go program and there is no `go` here: install Go, then run this again.");
  if (code !== 0 && !existsSync(program)) fail(`go install ${MODULE} failed`);
  return program;
}

/** What node runs. */
function commandOf(folder, pool) {
  if (pool === EXAMPLE) {
    return ["--conditions=mooring-source", "--import", "tsx", "examples/driver-minimal/driver.ts"];
  }
  const driver = ["scripts/mooring.mjs", "driver", "--state-dir", join(folder, "state")];
  if (pool === CEPH) {
    const place = ["--rbd-pool", `default=${process.env.MOORING_RBD}`];
    return [...driver, "--node-id", "conformance-node", ...place, "--max-volumes", "8"];
  }
  return [
    ...driver,
    ...["--node-id", "conformance-node"],
    // The suite fills the node up to its limit, with volumes of 10 GiB: the limit is low and the pool thin.
    ...["--pool", pool, "--pool-size", "40Gi", "--pool-overcommit", "4", "--max-volumes", "8"],
  ];
}

/** Mounts and loop devices of ours that are still there. */
async function remains(folder) {
  const mounts = (await readFile("/proc/self/mountinfo", "utf8"))
    .split("\n")
    .filter((line) => line.includes(folder));
  let loops = "";
  await run("losetup", ["--list", "--noheadings", "--output", "NAME,BACK-FILE"], {
    sink: (chunk) => (loops += chunk),
  });
  return [...mounts, ...loops.split("\n").filter((line) => line.includes(folder))];
}

/** A copy of a mount in the namespace of some other process holds a device for as long as that process runs. */
async function waitForNone(find) {
  const deadline = Date.now() + REMAINS_DEADLINE_MS;
  let left = await find();
  while (left.length > 0 && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    left = await find();
  }
  return left;
}

/** How the specs ended, and why some were left out. */
async function readReport(file) {
  const [report] = JSON.parse(await readFile(file, "utf8").catch(() => "[]"));
  const specs = (report?.SpecReports ?? []).filter((spec) => spec.LeafNodeType === "It");
  const count = (state) => specs.filter((spec) => spec.State === state).length;
  const counts = { passed: count("passed"), pending: count("pending"), skipped: count("skipped") };
  const failed = specs.length - counts.passed - counts.pending - counts.skipped;
  const reasons = new Map();
  for (const spec of specs.filter(({ State }) => State === "skipped")) {
    const reason = spec.Failure?.Message ?? "no reason given";
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
  return { counts: { ...counts, failed }, reasons, seed: report?.SuiteConfig?.RandomSeed };
}

async function round(program, { pool, access, seed }) {
  const folder = await mkdtemp(join(tmpdir(), "mooring-csi-"));
  const parameters = async (name, yaml) => {
    const file = join(folder, name);
    await writeFile(file, yaml);
    return file;
  };
  const socket = join(folder, "csi.sock");
  const env = { VOLUMES: join(folder, "volumes") };
  const driver = await startDriver(commandOf(folder, pool), socket, env).catch(({ message }) =>
    fail(message),
  );
  let output = "";
  const code = await run(
    program,
    [
      ...["--csi.endpoint", `unix://${socket}`, "--csi.testvolumeaccesstype", access],
      ...["--csi.mountdir", join(folder, "mount"), "--csi.stagingdir", join(folder, "staging")],
      ...["--csi.testvolumemutableparameters", await parameters("mutable.yaml", 'readAheadKiB: "256"\n')],
      ...["--csi.testnodevolumeattachlimit", ...(SIZES[pool] ?? [])],
      ...["--ginkgo.json-report", join(folder, "report.json")],
      ...["--ginkgo.randomize-all", "--ginkgo.no-color", "--ginkgo.timeout", SUITE_DEADLINES[pool] ?? "10m"],
      ...(seed === undefined ? [] : ["--ginkgo.seed", seed]),
    ],
    { sink: (chunk) => (output += chunk) },
  );
  const ended = await driver.stop();
  const left = await waitForNone(() => remains(folder));
  const { counts, reasons, seed: used } = await readReport(join(folder, "report.json"));
  const unannounced = [...reasons.keys()].every((reason) => reason.endsWith("not supported"));
  const complete = counts.skipped === 0 || (pool === EXAMPLE && unannounced);
  const clean = ended === 0 && left.length === 0 && complete;
  const good = code === 0 && clean && counts.passed > 0;
  process.stdout.write(
    `${good ? "ok  " : "FAIL"} ${pool} ${access}: ${counts.passed} passed, ${counts.failed} failed, ` +
      `${counts.skipped} skipped, ${counts.pending} pending upstream (seed ${used})\n`,
  );
  for (const [reason, count] of complete ? [] : reasons)
    process.stdout.write(`  ${count} skipped: ${reason}\n`);
  if (!good || options.verbose) {
    process.stdout.write(`${output}\n--- driver ended with ${ended}\n${left.join("\n")}\n`);
    if (!good) await writeFile(join(folder, "driver.log"), driver.log());
  }
  if (good && !options.keep) await rm(folder, { recursive: true });
  else process.stdout.write(`  kept: ${folder}\n`);
  return good;
}

if (process.getuid?.() !== 0) fail("csi-sanity mounts real volumes: run this as root.");
if (options.pool.split(",").includes(CEPH) && process.env.MOORING_RBD === undefined)
  fail(
    "--pool rbd needs a Ceph cluster: npm run test:rbd starts one, or set MOORING_RBD to what --rbd-pool gets.",
  );
const program = await suite();
let good = true;
for (let index = 0; index < Number(options.runs); index++) {
  for (const pool of options.pool.split(",")) {
    for (const access of pool === EXAMPLE ? ["mount"] : options.access.split(",")) {
      good = (await round(program, { pool, access, seed: options.seed })) && good;
    }
  }
}
process.exit(good ? 0 : 1);
