// How long each test file took the last time: the longest begin first, and what mostly waits has others beside it.
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ROOT } from "../setup.mjs";

/** Of the runs of this clone: `{ [file]: { seconds, cpu } }`. */
const HERE = join(ROOT, ".cache/test-times.json");
/** Of the long files on another machine, for a clone that has not run them yet; `--keep-times` writes it. */
export const KEPT = fileURLToPath(new URL("times.json", import.meta.url));
/** In seconds; where a shorter one comes makes no difference. */
const LONG = 8;

export async function readTimes() {
  const kept = JSON.parse(await readFile(KEPT, "utf8"));
  return { ...kept, ...(await timesOfHere()) };
}

/** Adds what this run has measured, files by their `name`; with `keep` also to what a new clone begins with. */
export async function writeTimes(results, { keep = false } = {}) {
  const measured = Object.fromEntries(
    results.map(({ name, ms, cpuMs }) => [name, { seconds: toSeconds(ms), cpu: toSeconds(cpuMs) }]),
  );
  await mkdir(dirname(HERE), { recursive: true });
  // Runs may be side by side: each finds a whole file, of whichever ended last.
  const next = `${HERE}.${process.pid}`;
  await writeFile(next, JSON.stringify({ ...(await timesOfHere()), ...measured }));
  await rename(next, HERE);
  if (keep) await writeFile(KEPT, format(measured));
}

const timesOfHere = async () => JSON.parse(await readFile(HERE, "utf8").catch(() => "{}"));
const toSeconds = (ms) => Math.round(ms / 100) / 10;

/** One file a line, so that changes can be read. */
function format(measured) {
  const long = Object.entries(measured).filter(([, { seconds }]) => seconds >= LONG);
  const lines = long.sort(([a], [b]) => (a < b ? -1 : 1)).map((entry) => entry.map((x) => JSON.stringify(x)));
  return `{\n${lines.map(([name, times]) => `  ${name}: ${times}`).join(",\n")}\n}\n`;
}
