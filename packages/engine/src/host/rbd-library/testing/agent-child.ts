/**
 * A process with Ceph's library, until it is killed: `agent-child.ts ARGUMENTS`. ARGUMENTS: those of `rbd`, as JSON, for a call that is
 * made again and again. Writes a line for each that the library has made; programs are none.
 */
import { setTimeout } from "node:timers/promises";
import { createClock } from "../../clock.ts";
import { createExec } from "../../exec.ts";
import { withRbdLibrary } from "../with-library.ts";

const clock = createClock();
const NONE = { stdout: "", stderr: "", exitCode: null, signal: null };
const library = withRbdLibrary({ ...createExec(), try: async () => NONE }, () => clock.sinceBoot());
const args: string[] = JSON.parse(process.argv[2] ?? "[]");
for (;;) {
  if ((await library.try("rbd", args)).exitCode !== null) process.stdout.write("by the library\n");
  await setTimeout(100);
}
