import { spawn } from "node:child_process";
import { setMaxListeners } from "node:events";
import { chmod, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle } from "../bundle.mjs";
import { say } from "../say.mjs";
import { ROOT } from "../setup.mjs";
import { withAnother } from "./again.mjs";
import { compileTests, MANY } from "./compile.mjs";
import { findTests } from "./find.mjs";
import { moduleGraph } from "./graph.mjs";
import { idleProcessors } from "./idle.mjs";
import { laneOf } from "./lanes.mjs";
import { recordResults, revision } from "./record.mjs";
import { runFiles } from "./run-file.mjs";
import { schedule } from "./schedule.mjs";
import { changedPaths, filesOfDay, filesOfPart, filesReached, isDue, withoutOtherSteps } from "./select.mjs";
import { showFile, showSummary } from "./show.mjs";
import { sweep } from "./sweep.mjs";
import { readTimes, writeTimes } from "./times.mjs";
import { together } from "./together.mjs";

const SWEEPER = fileURLToPath(new URL("sweep.mjs", import.meta.url));
/** A test that waits for ever is named, instead of keeping a run from its end; the long proofs take their time. */
const LIMIT_MS = process.env.MOORING_DEEP === "1" ? undefined : 900_000;
/** In processors: however much a file waits, it has its moments. */
const LEAST_COST = 0.25;
/** So few are watched while they run. */
const FEW = 2;

/** Runs the tests that are asked for; resolves with the exit code. */
export async function runTests(wanted) {
  const files = await findTests(wanted.roots);
  // Many start the command itself.
  await bundle();
  const compiled = await compileTests(files);
  try {
    const chosen = await choose(files, compiled, wanted);
    if (chosen.length > 0) return await runAll(chosen, compiled, wanted);
    say(`no test to run below ${wanted.roots.join(" ") || ROOT}`);
    // That a change reaches no test is a result, that a folder has none is a mistake.
    return wanted.changed === undefined ? 1 : 0;
  } finally {
    await compiled.remove();
  }
}

async function choose(files, compiled, wanted) {
  const chosen = await chooseAll(files, compiled, wanted);
  // A file that is named is meant.
  if (wanted.part !== "rest" || wanted.roots.length > 0) return chosen;
  const here = withoutOtherSteps(chosen);
  return wanted.inTurn ? filesOfDay(here.filter((file) => isDue(file))) : here;
}

async function chooseAll(files, { metafile }, { part, changed }) {
  if (changed === undefined && part !== "rest") return filesOfPart(files, part);
  const graph = await moduleGraph(metafile);
  const ofPart = filesOfPart(files, part, graph);
  return changed === undefined ? ofPart : filesReached(ofPart, await changedPaths(changed), graph);
}

async function runAll(files, compiled, wanted) {
  const { flags, part, record, keepTimes, show, spareUntil } = wanted;
  const at = await revision();
  const place = await openPlace();
  const stop = interruptible();
  const items = itemsOf(files, compiled, wanted, await readTimes());
  // What is asked of node is asked of each file, and of few files each is watched by a developer.
  const share = items.length >= MANY && flags.length === 0;
  const groups = share ? await together(items) : items.map((item) => ({ ...item, files: [item] }));
  const live = items.length <= FEW;
  const colours = live && process.stdout.isTTY ? { FORCE_COLOR: "1" } : {};
  const env = {
    ...{ ...process.env, MOORING_TESTS: part, ...colours },
    MOORING_TEST_PROGRAMS: compiled.folder,
  };
  let ended = [];
  const startedAt = performance.now();
  let groupsBegun = 0;
  const runGroup = ({ files, apart }) => {
    const folder = join(place.folder, String(groupsBegun++));
    return runFiles({ files, apart, folder, flags, env, limitMs: LIMIT_MS, signal: stop, live });
  };
  const work = async (group) => {
    const results = await runGroup(group);
    if (stop.aborted) return;
    for (const result of results) {
      ended.push(result);
      if (!live) showFile(result, { done: ended.length, of: items.length, show });
    }
  };
  const hasTime = () => Date.now() < spareUntil;
  const bounds = live ? { capacity: 1 } : { ...wanted, hasTime, idle: idleProcessors() };
  await schedule(groups, bounds, work, stop);
  const alone = async ({ name }) => {
    const item = items.find((one) => one.name === name);
    const [result] = await runGroup({ ...item, files: [item] });
    return stop.aborted ? undefined : result;
  };
  // What is recorded was shown by one run, and what ran alone has had its run alone.
  if (share && !record && !stop.aborted) ended = await withAnother(ended, alone);
  await place.remove();
  await writeTimes(ended, { keep: keepTimes });
  const spared = items.filter(({ name, spare }) => spare && !ended.some((result) => result.name === name));
  showSummary(ended, {
    ...{ of: items.length, seconds: (performance.now() - startedAt) / 1000, live },
    spared: stop.aborted ? [] : spared.map(({ name }) => name),
  });
  if (stop.aborted) return 130;
  if (record) await recordResults(ended, { ...at, part });
  return ended.every(({ code }) => code === 0) ? 0 : 1;
}

/** What is to be run of each file, with the lane and the time that it is expected to take. */
function itemsOf(files, compiled, { part, spareUntil }, times) {
  const ofDay = new Set(filesOfDay(files).filter((file) => isDue(file)));
  return files.map((file) => {
    const name = relative(ROOT, file);
    // Without an end of the time there is nothing to spare.
    const spare = Number.isFinite(spareUntil) && !ofDay.has(file);
    const lane = asMeasured(laneOf(file, part), times[name]);
    return { ...lane, name, file, spare, program: compiled.pathOf(file) };
  });
}

/** A file that mostly waited the last time leaves its processor to others; what needs the whole machine still gets it. */
function asMeasured(lane, last) {
  if (last?.cpu === undefined) return lane;
  const busy = last.cpu / Math.max(last.seconds, 0.1);
  const cost = Number.isFinite(lane.cost) ? Math.min(1, Math.max(LEAST_COST, busy)) : lane.cost;
  return { ...lane, cost, seconds: last.seconds };
}

/** A folder for everything that the tests make. What they have left there is taken away however this process ends. */
async function openPlace() {
  const folder = await mkdtemp(join(tmpdir(), "mt-"));
  // Some tests are about other users.
  await chmod(folder, 0o755);
  // It sees the end of its input: ours is the only other end of the pipe.
  const sweeper = spawn(process.execPath, [SWEEPER, folder], {
    ...{ stdio: ["pipe", "ignore", "ignore"], detached: true },
  });
  sweeper.unref();
  return {
    folder,
    remove: async () => {
      await sweep(folder);
      sweeper.stdin.destroy();
    },
  };
}

/** A signal that comes with Ctrl-C and its like; a second one ends this process at once. */
function interruptible() {
  const stop = new AbortController();
  // Each process that runs listens, and those that mostly wait are many.
  setMaxListeners(0, stop.signal);
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.once(name, () => {
      say(`\n${name}: ending the tests that run`);
      stop.abort();
    });
  }
  return stop.signal;
}
