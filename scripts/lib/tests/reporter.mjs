// A reporter of node:test: one line of JSON for every test that begins and for every one that has ended, with the titles
// of those around it. A line with the time and the processor time until then, with that of the processes that were waited
// for, is written at the end of each file of several, and at the end of all.
import { readFileSync } from "node:fs";

/** Ticks of `/proc/PID/stat` are hundredths of a second on every Linux that Node.js runs on. */
const MS_PER_TICK = 10;

const END = "end of ";

/** The title of what follows the last test of a file when several run in one process. */
export const endOf = (file) => `${END}${file}`;

export default async function* report(events) {
  const titles = [];
  for await (const { type, data } of events) {
    if (data.nesting === 0 && data.name?.startsWith(END)) {
      // It fails when what the file had could not be put away.
      const isGood = type === "test:pass";
      if (isGood || type === "test:fail")
        yield line({ endOf: data.name.slice(END.length), isGood, ...times() });
      continue;
    }
    if (type === "test:dequeue") yield line({ begins: data.name });
    if (type === "test:complete") yield line({ ends: data.name });
    // Begins are reported in the order of the report: those around a test before it.
    if (type === "test:start") titles.splice(data.nesting, titles.length, data.name);
    if (type !== "test:pass" && type !== "test:fail") continue;
    const path = [...titles.slice(0, data.nesting), data.name];
    const suite = data.details.type === "suite";
    yield line({ path, outcome: outcomeOf(type, data), ms: Math.round(data.details.duration_ms), suite });
  }
  yield line({ end: true, ...times() });
}

const line = (value) => `${JSON.stringify(value)}\n`;

function outcomeOf(type, { skip, todo }) {
  if (skip !== undefined && skip !== false) return "skipped";
  if (todo !== undefined && todo !== false) return "todo";
  return type === "test:pass" ? "passed" : "failed";
}

const times = () => ({ ms: Math.round(performance.now()), cpuMs: processorTime() });

function processorTime() {
  // The second field may contain anything, in parentheses.
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1).split(" ");
  return [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0) * MS_PER_TICK;
}
