// A reporter of node:test: one line of JSON for every test that begins and for every one that has ended, with the titles
// of those around it. The last line has the processor time of the file and of the processes that it waited for.
import { readFileSync } from "node:fs";

/** Ticks of `/proc/PID/stat` are hundredths of a second on every Linux that Node.js runs on. */
const MS_PER_TICK = 10;

export default async function* report(events) {
  const titles = [];
  for await (const { type, data } of events) {
    if (type === "test:dequeue") yield line({ begins: data.name });
    if (type === "test:complete") yield line({ ends: data.name });
    // Begins are told in the order of the report: those around a test before it.
    if (type === "test:start") titles.splice(data.nesting, titles.length, data.name);
    if (type !== "test:pass" && type !== "test:fail") continue;
    const path = [...titles.slice(0, data.nesting), data.name];
    const suite = data.details.type === "suite";
    yield line({ path, outcome: outcomeOf(type, data), ms: Math.round(data.details.duration_ms), suite });
  }
  yield line({ cpuMs: processorTime() });
}

const line = (value) => `${JSON.stringify(value)}\n`;

function outcomeOf(type, { skip, todo }) {
  if (skip !== undefined && skip !== false) return "skipped";
  if (todo !== undefined && todo !== false) return "todo";
  return type === "test:pass" ? "passed" : "failed";
}

function processorTime() {
  // The second field may hold anything, in parentheses.
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1).split(" ");
  return [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0) * MS_PER_TICK;
}
