import { after } from "node:test";

type End = () => unknown;

/** What scripts/lib/tests/in-turn.mjs calls: of several files in a process the hooks of node:test run when the first ends. */
const ENDS = Symbol.for("mooring.tests.ends");

function endsOf(what: "file" | "process"): End[] | undefined {
  return (globalThis as { [ENDS]?: Record<"file" | "process", End[]> })[ENDS]?.[what];
}

function add(what: "file" | "process", end: End): void {
  const ends = endsOf(what);
  if (ends === undefined) after(async () => void (await end()));
  else ends.push(end);
}

/** Calls `end` after the last test of this file. */
export function afterFile(end: End): void {
  add("file", end);
}

/** Calls `end` after the last test of the last file of this process. */
export function afterFiles(end: End): void {
  add("process", end);
}
