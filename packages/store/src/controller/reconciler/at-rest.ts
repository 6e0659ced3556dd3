import { isDeepStrictEqual } from "node:util";
import { delay } from "../../runtime/wait.ts";
import { stepName } from "./outcome.ts";

/** A running controller, as one who checks it sees it. */
export interface Checked {
  readonly name: string;
  /** What its reads go to: the controllers of one system share it. */
  readonly store: unknown;
  /** It has begun, and nothing is ready or under way. */
  readonly idle: boolean;
  /** Grows with every key that is taken up. */
  readonly taken: number;
  /** Keys that are ready, how long the oldest of them has been, and for how long workers have had theirs. */
  readonly backlog: { ready: number; oldestMs: number; activeMs: readonly number[] };
  keys(): Iterable<string>;
  /** Another one whenever the key has been read anew; undefined before. */
  passOf(key: string): unknown;
  forgotten(key: string): Promise<Due | undefined>;
}

/** A step that a read for nothing but that has found due, and for which nothing has asked yet. */
export interface Due {
  step: { do: string };
  /** The event that asks for it may still be on its way: the read has seen more than the informers. */
  awaitsEvent: boolean;
}

/** A step that is due and for which no event has asked. */
export interface Sleeper {
  controller: string;
  key: string;
  step: string;
}

const running = new Set<Checked>();

/** Returns how to take the controller out again. */
export function enlist(controller: Checked): () => void {
  running.add(controller);
  return () => running.delete(controller);
}

/** What waits for a worker now, or is with one, of each running controller of this process. `oldestMs`, `activeMs`: milliseconds. */
export function backlogs(): ({ controller: string } & Checked["backlog"])[] {
  return [...running].map(({ backlog, name }) => ({ controller: name, ...backlog }));
}

/** Every key that a running controller (of the store) has, with its name before it: `volume v-1`. */
export function knownKeys(options: OfStore = {}): string[] {
  return those(options).flatMap((each) => [...each.keys()].map((key) => `${each.name} ${key}`));
}

/**
 * A full pass over all keys of all controllers of this process, reading and deciding without doing. What is being
 * worked on, or is failing and will be tried again, is left out.
 */
export async function findSleepers(options: OfStore = {}): Promise<Sleeper[]> {
  return (await pass(options)).map(({ sleeper }) => sleeper);
}

export interface OfStore {
  /** Only controllers of this store: in one process there may be several systems. Default: all. */
  store?: unknown;
}

function those({ store }: OfStore): Checked[] {
  return [...running].filter((controller) => store === undefined || controller.store === store);
}

interface Found {
  sleeper: Sleeper;
  awaitsEvent: boolean;
  /** The last read of the key. */
  read: unknown;
}

async function pass(options: OfStore): Promise<Found[]> {
  const found: Found[] = [];
  for (const controller of those(options)) {
    for (const key of controller.keys()) {
      // What cannot be read cannot be decided; the worker of the key reports it.
      const due = await controller.forgotten(key).catch(() => undefined);
      if (due === undefined) continue;
      const sleeper = { controller: controller.name, key, step: stepName(due.step) };
      found.push({ sleeper, awaitsEvent: due.awaitsEvent, read: controller.passOf(key) });
    }
  }
  return found;
}

/**
 * Resolves when all controllers (of the store) are idle and a full pass finds no step: nothing sleeps through its
 * event. Throws with the steps that are still due, and that nothing has asked for, after the time; for the end of tests.
 */
export async function atRest({
  withinMs = 30_000,
  ...of
}: { withinMs?: number } & OfStore = {}): Promise<void> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const takenBefore = taken(of);
    const due = busy(of).length === 0 ? await pass(of) : [];
    const stirring = busy(of);
    if (stirring.length === 0 && due.length === 0 && taken(of) === takenBefore) return;
    if (performance.now() > deadline) throw new Error(unrest(due, stirring));
    await delay(50);
  }
}

function unrest(due: readonly Found[], stirring: readonly string[]): string {
  const named = (found: readonly Found[]): string =>
    found.map(({ sleeper: { controller, key, step } }) => `${controller} ${key}: ${step}`).join("; ");
  const asleep = due.filter(({ awaitsEvent }) => !awaitsEvent);
  if (asleep.length > 0) return `nothing asks for what is due: ${named(asleep)}`;
  return due.length > 0
    ? `no rest: events are on their way for ${named(due)}`
    : `no rest: ${stirring.join(", ")}`;
}

function busy(of: OfStore): string[] {
  return those(of)
    .filter(({ idle }) => !idle)
    .map(({ name }) => name);
}

function taken(of: OfStore): number {
  return those(of).reduce((sum, controller) => sum + controller.taken, 0);
}

/** Milliseconds between two checks, in which events come. */
const CHECK_MS = 100;
/** An event that the informers are seen to be waiting for has so many times as many checks. */
const PATIENCE = 12;

/**
 * The steps that are still due, and that nothing has asked for, at so many checks. Events come between them, so these
 * are counted and not the time: a process that gets no processor for a while makes no check either. A key whose event
 * is seen to be on its way is checked longer, and one that is read anew meanwhile, as by a controller that tries again
 * and again, has not slept. Resolves at once when a check finds none, however much is being worked on.
 */
export async function lastingSleepers({
  checks = 50,
  ...of
}: { checks?: number } & OfStore = {}): Promise<Sleeper[]> {
  let lasting = await pass(of);
  const isOpen = ({ awaitsEvent }: Found, check: number) => check < checks * (awaitsEvent ? PATIENCE : 1);
  for (let check = 0; lasting.some((each) => isOpen(each, check)); check += 1) {
    await delay(CHECK_MS);
    const now = await pass(of);
    lasting = lasting.flatMap(
      (before) =>
        now.find(({ read, sleeper }) => read === before.read && isDeepStrictEqual(sleeper, before.sleeper)) ??
        [],
    );
  }
  return lasting.map(({ sleeper }) => sleeper);
}
