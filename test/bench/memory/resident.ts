import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { SHORT } from "../measure.ts";

/** What a process has of the machine's memory, in MiB. */
export interface Resident {
  /** All of it (VmRSS). */
  all: number;
  /** Its own (RssAnon): heap, buffers, stacks. */
  own: number;
  /** Of files that it has mapped (RssFile): the program `node`, and the store. */
  files: number;
}

/** How often the memory is read, and for how long it has to stay as it is. */
const [EVERY_MS, QUIET_MS] = SHORT ? [100, 500] : [1_000, 20_000];
/** A process that never comes to rest is measured all the same. */
const LONGEST_MS = SHORT ? 3_000 : 120_000;
/** What is no change. */
const NOISE_MIB = 0.5;

export async function resident(pid: number): Promise<Resident> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const of = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? Number.NaN) / 1024;
  return { all: of("VmRSS"), own: of("RssAnon"), files: of("RssFile") };
}

/** The memory of a process that has nothing to do, once it has not changed for a while: what is garbage is collected then. */
export async function settled(pid: number): Promise<Resident> {
  const deadline = Date.now() + LONGEST_MS;
  let last = await resident(pid);
  for (let since = Date.now(); Date.now() - since < QUIET_MS && Date.now() < deadline; ) {
    await sleep(EVERY_MS);
    const now = await resident(pid);
    if (Math.abs(now.all - last.all) <= NOISE_MIB) continue;
    last = now;
    since = Date.now();
  }
  return resident(pid);
}
