// Test files in one process, with a folder for everything temporary that is theirs alone.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { withSourcePlaces } from "./places.mjs";
import { readResults, running } from "./results.mjs";
import { FOLDER_VARIABLE, leftBehind, loopIds, remove, sweep } from "./sweep.mjs";

const REPORTER = fileURLToPath(new URL("reporter.mjs", import.meta.url));
const IN_TURN = fileURLToPath(new URL("in-turn.mjs", import.meta.url));
const UNTRACKED = fileURLToPath(new URL("untracked.cjs", import.meta.url));
/** Short lives that leave much garbage: it is collected seldom, and not by threads that take processors from others. */
const MEMORY = ["--max-semi-space-size=64", "--single-threaded-gc"];
/** Between the request to end and the end. */
const GRACE_MS = 10_000;
const CLOSE_MS = 500;
/** As long as guards and servers may take to notice that they are not needed any more. */
const LEFT_BEHIND_MS = 10_000;

/**
 * In a mount namespace of its own a file sees no mounts of others. The copies of those that are there already are
 * unmounted, or they would keep the devices of others; what the machine unmounts later is unmounted here as well (`slave`).
 */
const APART = [
  ...["unshare", "--mount", "--propagation", "slave", "sh", "-c"],
  `awk -v below="$0/" 'index($5, below) == 1 { print $5 }' /proc/self/mountinfo | tac | xargs -r -n 1 umount -l; exec "$@"`,
  tmpdir(),
];

/**
 * Runs `files` (`name`, `program`) one after another to their end. `folder` does not exist yet, and does not afterwards.
 * Resolves with one result for each: `name`, `code`, `output`, `tests` (`path`, `outcome`, `ms`, `suite`, `ids`), `ms`,
 * `cpuMs`, and what was wrong beside the tests: `hung`, the tests that were running when the time was over, and `left`, what
 * was left behind. What cannot be told apart is reported with the first that failed, or the last.
 */
export async function runFiles({ files, folder, apart, flags, env, limitMs, signal, live }) {
  await mkdir(folder);
  await chmod(folder, 0o1777);
  const results = `${folder}.results`;
  const covering = files.map(({ name, program }, index) => ({
    ...{ name, program, covers: `${folder}.covers-${index}` },
  }));
  const own = [
    // What is shown later names the places of the sources in the end: see places.mjs.
    ...(live ? ["--enable-source-maps"] : []),
    ...[`--require=${UNTRACKED}`, ...MEMORY],
    ...["--test-reporter=spec", "--test-reporter-destination=stdout"],
    ...[`--test-reporter=${REPORTER}`, `--test-reporter-destination=${results}`],
  ];
  const program = files.length === 1 ? [files[0].program] : [IN_TURN, JSON.stringify(covering)];
  const [command, ...args] = [...(apart ? APART : []), process.execPath, ...own, ...flags, ...program];
  const startedAt = performance.now();
  const child = spawn(command, args, {
    // A group of its own: an interrupt of us leaves the end of it to us.
    ...{ stdio: ["ignore", "pipe", "pipe"], detached: true },
    env: { ...env, TMPDIR: folder, [FOLDER_VARIABLE]: folder, MOORING_COVERS: covering[0].covers },
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
  const { code, hung, loops } = await endOf(child, exited, { limitMs, signal, results, folder });
  const ms = Math.round(performance.now() - startedAt);
  // What outlives the files keeps their output open; we do not wait for that.
  await Promise.race([closed, sleep(CLOSE_MS, undefined, { ref: false })]);
  const isOver = !signal.aborted && hung === undefined;
  const left = isOver ? await stillLeft(folder) : [];
  await (isOver && left.length === 0 ? remove(folder) : sweep(folder, loops));
  return shownBy(await readResults(results, covering), { code, output, ms, hung, left });
}

function shownBy(read, { code, output, ms, hung, left }) {
  // A program under test may end this process with 0, or set that as its code: the report shows whether all tests ran.
  const isGood = ({ whole, tests }) => whole && tests.every(({ outcome }) => outcome !== "failed");
  // Which file is at fault is not known where no test has reported it.
  const isNobodys = code !== 0 && read.every(isGood);
  const bad = read.findIndex((file) => isNobodys || !isGood(file));
  const shown = (text) => (bad < 0 ? text : withSourcePlaces(text));
  return read.map(({ whole, ...file }, index) => ({
    ...file,
    ms: read.length === 1 ? ms : file.ms,
    code: isNobodys || !isGood({ whole, ...file }) ? code || 1 : 0,
    output: index === bad || read.length === 1 ? shown(output) : other(file, whole),
    hung: index === bad ? hung : undefined,
    left: index === read.length - 1 ? left : [],
  }));
}

const other = ({ tests }, whole) =>
  whole || tests.length > 0 ? "" : "did not run: the process ended in a file before it";

async function endOf(child, exited, { limitMs, signal, results, folder }) {
  const stop = new AbortController();
  const late = limitMs === undefined ? new Promise(() => {}) : stalled(results, limitMs, stop.signal);
  const aborted = new Promise((resolve) => signal.addEventListener("abort", () => resolve("late"), stop));
  late.catch?.(() => {});
  let hung;
  let loops;
  if ((await Promise.race([exited, late, aborted])) === "late") {
    if (!signal.aborted) hung = await running(results);
    loops = await loopIds(folder);
    signalGroup(child.pid, "SIGTERM");
    await Promise.race([exited, sleep(GRACE_MS, undefined, stop)]).catch(() => {});
    signalGroup(child.pid, "SIGKILL");
  }
  const code = await exited;
  stop.abort();
  return { code, hung, loops };
}

/** Resolves with "late" when no test has begun or ended for so long: how many a process has before it says nothing of that. */
async function stalled(results, limitMs, signal) {
  const startedAt = Date.now();
  for (;;) {
    const { mtimeMs } = await stat(results).catch(() => ({ mtimeMs: startedAt }));
    const left = Math.max(mtimeMs, startedAt) + limitMs - Date.now();
    if (left <= 0) return "late";
    await sleep(left, undefined, { signal });
  }
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
