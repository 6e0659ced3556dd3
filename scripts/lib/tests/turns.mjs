// Long proofs, in the order of days: where the time is short, the gate runs the ones of the day first, and so all in five days.
import { readFileSync } from "node:fs";

const TURNS = 5;

/**
 * The files and the processor seconds that each took in the rest: kills at more failpoints of one part, longer random histories,
 * larger sets and tables, the same flow once more on Ceph, on three nodes or with a database. What they are about is met every
 * day by a shorter test of `npm test`, and `test/crash` kills the whole every day. `npm run test:all` runs each.
 */
const SECONDS = JSON.parse(readFileSync(new URL("turns.json", import.meta.url), "utf8"));
const TURN_OF = share(Object.entries(SECONDS), TURNS);

/** Every file that has a turn. */
export const inTurn = Object.keys(SECONDS);

/** Which of `turns` days the file runs on; `turn` is undefined for one that runs every day. */
export function turnOf(path) {
  return { turn: TURN_OF.get(path), turns: TURNS };
}

/** Days of about the same length: the longest first, each to the day that has least. */
function share(entries, turns) {
  const days = Array.from({ length: turns }, (_, turn) => ({ turn, seconds: 0 }));
  const turnOf = new Map();
  for (const [path, seconds] of entries.toSorted(([, a], [, b]) => b - a)) {
    const day = days.reduce((least, day) => (day.seconds < least.seconds ? day : least));
    day.seconds += seconds;
    turnOf.set(path, day.turn);
  }
  return turnOf;
}
