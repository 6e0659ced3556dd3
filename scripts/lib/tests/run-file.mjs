// One test file, as a process of its own with a folder of its own for everything temporary.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { FOLDER_VARIABLE, leftBehind, sweep } from "./sweep.mjs";

const REPORTER = fileURLToPath(new URL("reporter.mjs", import.meta.url));
const UNTRACKED = fileURLToPath(new URL("untracked.cjs", import.meta.url));
/** Short lives that leave much garbage: it is collected seldom, and not by threads that take processors from others. */
const MEMORY = ["--max-semi-space-size=64", "--single-threaded-gc"];
/** Between the request to end and the end. */
const GRACE_MS = 10_000;
const CLOSE_MS = 500;
/** As long as guards and servers may take to notice that nobody needs them any more. */
const LEFT_BEHIND_MS = 10_000;

/**
 * In a mount namespace of its own a file sees nobody else's mounts. The copies of those that are there already are let go
 * of, or they would keep the devices of others; what the machine unmounts later is unmounted here as well (`slave`).
 */
const APART = [
  ...["unshare", "--mount", "--propagation", "slave", "sh", "-c"],
  `awk -v below="$0/" 'index($5, below) == 1 { print $5 }' /proc/self/mountinfo | tac | xargs -r -n 1 umount -l; exec "$@"`,
  tmpdir(),
];

/**
 * Runs `program` to its end. `folder` does not exist yet, and does not afterwards. Resolves with `code`, `output`, `tests`
 * (`path`, `outcome`, `ms`, `suite`, `ids`), `ms`, `cpuMs`, and what was wrong beside the tests: `hung`, the tests that were
 * running when the time was over, and `left`, what the file has left behind.
 */
export async function runFile({ program, folder, apart, flags, env, limitMs, signal, live }) {
  await mkdir(folder);
  await chmod(folder, 0o1777);
  const results = `${folder}.results`;
  const covers = `${folder}.covers`;
  const own = [
    ...["--enable-source-maps", `--require=${UNTRACKED}`, ...MEMORY],
    ...["--test-reporter=spec", "--test-reporter-destination=stdout"],
    ...[`--test-reporter=${REPORTER}`, `--test-reporter-destination=${results}`],
  ];
  const [command, ...args] = [...(apart ? APART : []), process.execPath, ...own, ...flags, program];
  const startedAt = performance.now();
  const child = spawn(command, args, {
    // A group of its own: whoever interrupts us leaves the end of it to us.
    ...{ stdio: ["ignore", "pipe", "pipe"], detached: true },
    env: { ...env, TMPDIR: folder, [FOLDER_VARIABLE]: folder, MOORING_COVERS: covers },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
      if (live) process.stdout.write(text);
    });
  }
  const closed = once(child, "close");
  const exited = new Promise((resolve) => child.once("exit", (code, by) => resolve(by === null ? code : 1)));
  const { code, hung } = await endOf(child, exited, { limitMs, signal, results });
  const ms = Math.round(performance.now() - startedAt);
  // What outlives the file keeps its output open; nobody waits for that.
  await Promise.race([closed, sleep(CLOSE_MS, undefined, { ref: false })]);
  const left = signal.aborted || hung !== undefined ? [] : await stillLeft(folder);
  await sweep(folder);
  const { tests, cpuMs, whole } = await readResults(results, covers);
  // A program under test may end this one with 0, or set that as its code: the report tells whether all tests ran.
  const isGood = hung === undefined && whole && tests.every(({ outcome }) => outcome !== "failed");
  return { code: isGood ? code : code || 1, output, ms, cpuMs, tests, hung, left };
}

async function endOf(child, exited, { limitMs, signal, results }) {
  const stop = new AbortController();
  const late = limitMs === undefined ? new Promise(() => {}) : sleep(limitMs, "late", stop);
  const aborted = new Promise((resolve) => signal.addEventListener("abort", () => resolve("late"), stop));
  late.catch?.(() => {});
  let hung;
  if ((await Promise.race([exited, late, aborted])) === "late") {
    if (!signal.aborted) hung = await running(results);
    signalGroup(child.pid, "SIGTERM");
    await Promise.race([exited, sleep(GRACE_MS, undefined, stop)]).catch(() => {});
    signalGroup(child.pid, "SIGKILL");
  }
  const code = await exited;
  stop.abort();
  return { code, hung };
}

function signalGroup(pid, name) {
  try {
    process.kill(-pid, name);
  } catch {
    // All of it has ended.
  }
}

async function stillLeft(folder) {
  let left = await leftBehind(folder);
  for (const end = Date.now() + LEFT_BEHIND_MS; left.length > 0 && Date.now() < end; ) {
    await sleep(100);
    left = await leftBehind(folder);
  }
  return left;
}

const linesOf = async (path) => {
  const text = await readFile(path, "utf8").catch(() => "");
  // Behind the last line break is what a process was writing when it was killed.
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
};

/** The tests that had begun and had not ended. */
async function running(results) {
  const names = [];
  for (const { begins, ends } of await linesOf(results)) {
    if (begins !== undefined) names.push(begins);
    const at = ends === undefined ? -1 : names.lastIndexOf(ends);
    if (at >= 0) names.splice(at, 1);
  }
  return names;
}

/**
 * Each test with the requirements that it said, by covers(), to prove. `whole`: the report has its last line, so nothing
 * ended the file before its tests had ended.
 */
async function readResults(results, covers) {
  const lines = await linesOf(results);
  const said = new Map();
  for (const { path, ids } of await linesOf(covers)) {
    const key = JSON.stringify(path);
    said.set(key, [...(said.get(key) ?? []), ...ids]);
  }
  const tests = lines.filter(({ outcome }) => outcome !== undefined);
  for (const test of tests) {
    test.ids = [...new Set(said.get(JSON.stringify(test.path)))];
  }
  const cpuMs = lines.at(-1)?.cpuMs;
  return { tests, cpuMs: cpuMs ?? 0, whole: cpuMs !== undefined };
}
