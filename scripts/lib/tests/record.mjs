import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../setup.mjs";

/** What the last full run has shown: the page docs/conformance.md is made of it, and of nothing else. */
export const RESULTS = join(ROOT, "docs/conformance-results.json");

/** The same of what was run on a real Kubernetes, by `npm run test:kubernetes -- --record`. */
export const ON_KUBERNETES = join(ROOT, "docs/conformance-kubernetes.json");

const git = async (...args) => (await promisify(execFile)("git", args, { cwd: ROOT })).stdout.trim();

/** Where the sources are: the commit, and whether they differ from it. Asked before the tests run. */
export async function revision() {
  const commit = await git("rev-parse", "HEAD").catch(() => "unknown");
  const changes = await git("status", "--porcelain", "--untracked-files=no").catch(() => "");
  return { commit, clean: changes === "" };
}

/** Writes what every test that names requirements has shown; `files` as `runFile` returns them, with their `name`. */
export async function recordResults(files, at) {
  const tests = files.flatMap((file) => file.tests.filter(({ suite }) => !suite));
  const count = (wanted) => tests.filter(({ outcome }) => outcome === wanted).length;
  const proofs = files.flatMap((file) =>
    file.tests
      .filter(({ ids }) => ids.length > 0)
      .map((test) => ({
        file: file.name,
        title: titleOf(test),
        ids: test.ids,
        outcome: shown(test, file.tests),
      })),
  );
  proofs.sort((a, b) => compare(a.file, b.file) || compare(a.title, b.title));
  const head = {
    ...{ at: new Date().toISOString(), ...at, node: process.version },
    ...{ passed: count("passed"), failed: count("failed"), skipped: count("skipped") },
    // Also those that ended before they had a test to report.
    failedFiles: files.filter(({ code }) => code !== 0).map(({ name }) => name),
  };
  await writeFile(RESULTS, format(head, proofs));
}

const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const titleOf = ({ path }) => path.at(-1);

/** A suite shows something when one of its tests has passed and none has failed. */
function shown({ path, suite, outcome }, tests) {
  if (!suite || outcome !== "passed") return outcome;
  const inside = tests.filter((test) => !test.suite && path.every((title, at) => test.path[at] === title));
  return inside.some((test) => test.outcome === "passed") ? "passed" : "skipped";
}

/** One proof a line, so that changes can be read. */
function format(head, proofs) {
  const lines = proofs.map((proof) => `    ${JSON.stringify(proof)}`);
  return `${JSON.stringify(head, null, 2).slice(0, -2)},\n  "proofs": [\n${lines.join(",\n")}\n  ]\n}\n`;
}
