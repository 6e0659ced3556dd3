import { setTimeout as sleep } from "node:timers/promises";
import { TurnMeter } from "./turn-meter.ts";

/** Code that has not run yet is slow, and what was made before may be collected meanwhile: the least of so many counts. */
const TRIES = 5;
/**
 * What {@link reference} takes on the machine that limits are meant for, of processor time: one on which `npm run bench kubernetes`
 * needs 6 ms of it for a claim. Where a claim takes 9, this takes 16 to 17.
 */
const REFERENCE_MS = 11;
/** Until the last turn has been seen to end. */
const SEEN_MS = 20;

let meter: TurnMeter | undefined;
let slower: number | undefined;

/** The same work on every machine: texts and objects, as a server has. */
function reference(): number {
  const object = {
    items: Array.from({ length: 2_000 }, (_, at) => ({ type: `T${at}`, status: "True", at })),
  };
  const from = process.cpuUsage();
  for (let times = 0; times < 10; times += 1) JSON.stringify(JSON.parse(JSON.stringify(object)));
  const { user, system } = process.cpuUsage(from);
  return (user + system) / 1000;
}

/** How many times as long as the machine that limits are meant for this one takes; a faster one counts as that. */
function slowness(): number {
  slower ??= Math.max(1, Math.min(...Array.from({ length: 2 * TRIES }, reference)) / REFERENCE_MS);
  return slower;
}

/**
 * The processor time of the longest turn of this thread's event loop in which something is done, a server and its client in this
 * process together, as the machine that limits are meant for would take. Done again until it is at most `enough`, a few times: what
 * is done is to be the same again.
 */
export async function longestTurn<T>(
  work: () => Promise<T>,
  enough: number,
): Promise<{ response: T; ms: number }> {
  // Before anything is metered.
  const times = slowness();
  meter ??= new TurnMeter();
  let least = Number.POSITIVE_INFINITY;
  for (let tries = 1; ; tries += 1) {
    meter.begin();
    const response = await work();
    await sleep(SEEN_MS);
    least = Math.min(least, meter.report().worst / times);
    if (least <= enough || tries === TRIES) return { response, ms: least };
  }
}
