// Reads what reporter.mjs and covers() have written of a run.
import { readFile } from "node:fs/promises";

const linesOf = async (path) => {
  const text = await readFile(path, "utf8").catch(() => "");
  // Behind the last line break is what a process was writing when it was killed.
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
};

/** The tests that had begun and had not ended. */
export async function running(results) {
  const names = [];
  for (const { begins, ends } of await linesOf(results)) {
    if (begins !== undefined) names.push(begins);
    const at = ends === undefined ? -1 : names.lastIndexOf(ends);
    if (at >= 0) names.splice(at, 1);
  }
  return names;
}

/**
 * What each of `files` (`name`, `covers`) has shown, in the order in which they ran: its `tests` with the `ids` of
 * requirements that they declared, by covers(), to prove, `ms`, `cpuMs`, and `whole`: it came to its end. Of a file that runs
 * alone the report itself shows the end.
 */
export async function readResults(results, files) {
  const lines = await linesOf(results);
  const read = [];
  let from = { at: 0, ms: 0, cpuMs: 0 };
  for (const { name, covers } of files) {
    const isEnd = files.length === 1 ? ({ end }) => end : ({ endOf }) => endOf === name;
    const found = lines.findIndex(isEnd);
    const end = found < 0 ? lines.length : found;
    const said = await readCovers(covers);
    const tests = lines.slice(from.at, end).filter(({ outcome }) => outcome !== undefined);
    for (const test of tests) test.ids = [...new Set(said.get(JSON.stringify(test.path)))];
    const { ms, cpuMs, isGood = true } = lines[found] ?? from;
    read.push({ name, tests, ms: ms - from.ms, cpuMs: cpuMs - from.cpuMs, whole: found >= 0 && isGood });
    from = { at: end, ms, cpuMs };
  }
  return read;
}

async function readCovers(path) {
  const said = new Map();
  for (const line of await linesOf(path)) {
    const key = JSON.stringify(line.path);
    said.set(key, [...(said.get(key) ?? []), ...line.ids]);
  }
  return said;
}
