// Which test files may run at the same time, and how.
import { spawn } from "node:child_process";
import { relative } from "node:path";
import { ROOT } from "./setup.mjs";

/** What is tested here touches nothing but folders and sockets of its own. */
const APART = [
  ...[
    "csi",
    "sidecars",
    "store",
    "engine/src/cluster/arbiter",
    "engine/src/simulation",
    "engine/src/tickets",
  ],
  ...["apiserver", "builtin", "controllers", "crd", "schema"].map((name) => `standalone/src/${name}`),
].map((name) => `packages/${name}/`);
/** What is tested here waits, for leases that end and for machines that come back, more than it works. */
const WAITING = ["test/nodes/", "test/e2e/"];
/** What is tested here has to be done in time. */
const TIMED = ["test/group/"];

/**
 * - `apart`: any number of files side by side;
 * - `machine`, `nodes`: whoever mounts sees everybody's mounts, so one file at a time; the two lanes side by side;
 * - `clock`: one file at a time, and nothing beside it.
 */
export function laneOf(file) {
  const path = relative(ROOT, file);
  const isBelow = (folder) => path.startsWith(folder);
  if (APART.some(isBelow)) return "apart";
  if (TIMED.some(isBelow)) return "clock";
  return WAITING.some(isBelow) ? "nodes" : "machine";
}

const CONCURRENCY = { apart: 2 };
// What failed is told once more at the end, also where nobody watches a terminal: a log of CI is read from its end.
const FAILED = "failing tests:";

/** Runs lanes side by side: shows the first as it goes, the others when it has ended. Answers their exit codes. */
export async function runLanes(lanes, flags) {
  const running = lanes.map(({ name, files }, at) => runLane(name, files, flags, at === 0));
  const ended = [];
  for (const [at, lane] of running.entries()) {
    const { code, output } = await lane;
    if (at > 0) process.stdout.write(output);
    ended.push({ code, output });
  }
  for (const { output } of ended.slice(0, -1)) {
    const from = output.lastIndexOf(FAILED);
    if (from >= 0) process.stdout.write(`\n${output.slice(from)}`);
  }
  return ended.map(({ code }) => code);
}

function runLane(name, files, flags, live) {
  const reporter = flags.some((flag) => flag.startsWith("--test-reporter")) ? [] : ["--test-reporter=spec"];
  // A file that waits for ever is named, instead of keeping a run from its end; the long proofs take their time.
  const limit = process.env.MOORING_DEEP === "1" ? [] : ["--test-timeout=900000"];
  const own = ["--enable-source-maps", "--test", ...reporter, ...limit];
  const concurrency = `--test-concurrency=${CONCURRENCY[name] ?? 1}`;
  const env = { ...process.env, ...(process.stdout.isTTY ? { FORCE_COLOR: "1" } : {}) };
  const child = spawn(process.execPath, [...own, concurrency, ...flags, ...files], {
    ...{ env, stdio: ["inherit", "pipe", "inherit"] },
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    output += text;
    if (live) process.stdout.write(text);
  });
  return new Promise((done) => {
    child.on("close", (code, signal) => done({ output, code: signal === null ? (code ?? 1) : 1 }));
  });
}
