import { Random } from "./random.ts";

/**
 * Which part of the tests runs, from `MOORING_TESTS`:
 *
 * - `everyday` (`npm test`, and by default): every flow once, a few of the many cases;
 * - `rest` (`npm run test:rest`): what `everyday` leaves out;
 * - `all` (`npm run test:all`): everything of both;
 * - `deep` (`MOORING_DEEP=1`): every case there is, for hours.
 */
export type Part = "everyday" | "rest" | "all" | "deep";

/** The part that runs here. */
export function currentPart(env: NodeJS.ProcessEnv = process.env): Part {
  if (env["MOORING_DEEP"] === "1") return "deep";
  const part = env["MOORING_TESTS"] ?? "everyday";
  if (part === "everyday" || part === "rest" || part === "all") return part;
  throw new Error(`MOORING_TESTS is ${part}; it may be everyday, rest or all`);
}

/** Days until a suite kills again every day. */
const KILL_TURNS = 6;

/** How many of the cases run: `everyday` of them each day, `full` (default: every one) in `all`. */
export interface SampleSizes {
  everyday: number;
  full?: number;
}

/**
 * The cases of a long list that run here. A few of them change from day to day, so that all are met in time; `everyday`
 * and `rest` of one day never have a case in common. `MOORING_SEED` (default: the days since 1970) repeats a day's choice.
 */
export function sample<T>(
  cases: readonly T[],
  { everyday, full = cases.length }: SampleSizes,
  env: NodeJS.ProcessEnv = process.env,
): readonly T[] {
  const part = currentPart(env);
  if (part === "deep") return cases;
  const chosen = shuffled(cases.length, seedOf(env));
  const [from, to] = { everyday: [0, everyday], rest: [everyday, full], all: [0, Math.max(everyday, full)] }[
    part
  ];
  const kept = new Set(chosen.slice(from, to));
  return cases.filter((_, index) => kept.has(index));
}

/** `daily`: the suite kills every day, as the one that is about the whole does; others every sixth, in turn. */
export interface KillSizes extends SampleSizes {
  daily?: boolean;
}

/**
 * Declares a test for each failpoint of a suite: for all with `MOORING_DEEP=1`, else for a {@link sample}. `declare` calls
 * `test`; what it is given may say more than a name, such as the request on whose way the failpoint is. Every day a sixth
 * of the suites kills; what a suite does not do on its day off is in the rest.
 */
export function killEveryFailpoint<T>(
  failpoints: readonly T[],
  { daily = false, ...sizes }: KillSizes,
  declare: (failpoint: T) => void,
  env: NodeJS.ProcessEnv = process.env,
): void {
  if (failpoints.length === 0) throw new Error("there is no failpoint: are their modules imported?");
  const isDue = daily || (checksum(JSON.stringify(failpoints)) + seedOf(env)) % KILL_TURNS === 0;
  const everyday = isDue ? sizes.everyday : 0;
  for (const failpoint of sample(failpoints, { ...sizes, everyday }, env)) declare(failpoint);
}

/** A number that is another one for another text (FNV-1a). */
function checksum(text: string): number {
  let sum = 0x811c9dc5;
  for (const character of text) sum = Math.imul(sum ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return sum >>> 0;
}

/**
 * Options of a test that is too long for every day, given as `test(title, thorough(), ...)`: it runs in `rest`, `all` and
 * `deep`.
 */
export function thorough(env: NodeJS.ProcessEnv = process.env): { skip: string | false } {
  return { skip: currentPart(env) === "everyday" && "npm run test:rest runs it" };
}

/**
 * Options of a test of every day in a file that has {@link thorough} ones: it need not run a second time in `rest`.
 */
export function everyday(env: NodeJS.ProcessEnv = process.env): { skip: string | false } {
  return { skip: currentPart(env) === "rest" && "npm test runs it" };
}

/** How much of something that has no end runs in each part: histories, rounds, requests. */
export interface Amounts {
  everyday: number;
  /** In `rest` and `all`; as every day when absent. */
  full?: number;
  /** As `full` when absent. */
  deep?: number;
}

/** The amount for the part that runs here. */
export function howMany(amounts: Amounts, env: NodeJS.ProcessEnv = process.env): number {
  const { everyday, full = everyday, deep = full } = amounts;
  return { everyday, rest: full, all: full, deep }[currentPart(env)];
}

function seedOf(env: NodeJS.ProcessEnv): number {
  return Number(env["MOORING_SEED"] ?? Math.floor(Date.now() / 86_400_000));
}

/** The numbers below `length` in an order that the seed decides (Fisher and Yates). */
function shuffled(length: number, seed: number): number[] {
  const order = Array.from({ length }, (_, index) => index);
  const random = new Random(seed);
  for (let last = length - 1; last > 0; last -= 1) {
    const at = random.below(last + 1);
    [order[last], order[at]] = [order[at] ?? 0, order[last] ?? 0];
  }
  return order;
}
