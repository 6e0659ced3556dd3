import { execFile } from "node:child_process";
import { basename, relative } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../setup.mjs";
import { isThorough } from "./lanes.mjs";
import { RBD_SHORT } from "./rbd-short.mjs";
import { turnOf } from "./turns.mjs";

const git = async (...args) => (await promisify(execFile)("git", args, { cwd: ROOT })).stdout.trim();

/** Whatever these change, any test may notice. */
const EVERYTHING = /^(package(-lock)?\.json|tsconfig.*\.json|scripts\/(lib|node-test|test))/;
const HELPERS = "packages/store/src/testing/";
/** How tests say that some of them are left to the rest: see packages/store/src/testing/sample.ts. */
const LEAVES =
  /import\s*\{[^}]*\b(killEveryFailpoint|sample|thorough|withCeph|currentPart)\b[^}]*\}\s*from|\bhowMany\(\{[^}]*\bfull:/;

/** Those of the test files that have something to do in this part; `graph` is asked for the rest only. */
export function filesOfPart(files, part, graph) {
  if (part === "everyday") return files.filter((file) => !isThorough(file));
  if (part !== "rest") return files;
  return files.filter((file) => {
    if (isThorough(file)) return true;
    const reached = [...graph.reachedFrom(relative(ROOT, file))];
    return reached.some((path) => !path.startsWith(HELPERS) && LEAVES.test(graph.textOf(path)));
  });
}

/** Without those that `.ci/run` has in another step. */
export function withoutOtherSteps(files) {
  return files.filter((file) => !RBD_SHORT.includes(relative(ROOT, file)));
}

const dayOf = ({ MOORING_SEED }) => Number(MOORING_SEED ?? Math.floor(Date.now() / 86_400_000));

/** Whether it is the file's day, on which it comes first in the rest; `MOORING_SEED` says which day it is. */
export function isDue(file, env = process.env) {
  const { turn, turns } = turnOf(relative(ROOT, file));
  return turn === undefined || dayOf(env) % turns === turn;
}

/** Of the files without a turn every second, and the others the next day. */
export function filesOfDay(files, env = process.env) {
  const hasTurn = (file) => turnOf(relative(ROOT, file)).turn !== undefined;
  const others = files.filter((file) => !hasTurn(file));
  const chosen = new Set(others.filter((_, index) => (index + dayOf(env)) % 2 === 0));
  return files.filter((file) => hasTurn(file) || chosen.has(file));
}

/** Paths that differ from `ref`, with what is not committed; empty `ref`: from where the branch has left main. */
export async function changedPaths(ref) {
  const base = ref === "" ? await branchPoint() : ref;
  const differs = await git("diff", "--name-only", base);
  const added = await git("ls-files", "--others", "--exclude-standard");
  return [...differs.split("\n"), ...added.split("\n")].filter((path) => path !== "");
}

async function branchPoint() {
  for (const main of ["@{upstream}", "origin/HEAD", "origin/main", "main"]) {
    const found = await git("merge-base", "HEAD", main).catch(() => "");
    if (found !== "") return found;
  }
  return "HEAD";
}

/** The tests that a change can reach: those that import or start what has changed, or name what they read of it. */
export function filesReached(files, changed, { reachedFrom, textOf }) {
  if (changed.some((path) => EVERYTHING.test(path))) return files;
  return files.filter((file) => {
    const test = relative(ROOT, file);
    const reached = reachedFrom(test);
    const texts = [...reached].map(textOf);
    return changed.some((path) => {
      if (reached.has(path) || walks(textOf(test), path)) return true;
      return !isModule(path) && texts.some((text) => reads(text, path));
    });
  });
}

const isModule = (path) => /\.(ts|mjs)$/.test(path);

/** Whether a source names the file, or the folder at the root that it is below, as one does who walks through it. */
function reads(text, path) {
  return text.includes(basename(path)) || walks(text, path);
}

/** Whether a source has the folder at the root that the file is below, and no file in it: a test that reads every source does. */
function walks(text, path) {
  const [top = "", ...rest] = path.split("/");
  return rest.length > 0 && new RegExp(`["'\`](?:\\.\\.?/)*${top}(?:["'\`]|/\\$\\{)`).test(text);
}
