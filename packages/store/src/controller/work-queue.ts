import { type BackoffOptions, backoffMs, timerMs } from "../runtime/wait.ts";
import { noQueueCounts, type QueueCounts } from "./queue-counts.ts";

/** Back-off of a work queue, in milliseconds, and how many keys it hands out at once. */
export interface WorkQueueOptions extends Partial<BackoffOptions> {
  /**
   * A key that is failing waits at least this long between attempts (or its back-off, when that is shorter), however
   * many events ask for it: a controller whose own error reports come back as events must not spin. Default 1,000.
   */
  failureIntervalMs?: number;
  /** Milliseconds on a monotonic clock. */
  now?: () => number;
  /** Where it counts what goes through it; absent: nobody reads that. */
  counts?: QueueCounts;
}

interface Failing {
  count: number;
  since: number;
  intervalMs: number;
}

/**
 * Keys that need work. A key is in the queue once however often it is added, and is never given to two workers: added
 * while it is worked on, it comes again afterwards.
 */
export class WorkQueue {
  readonly #backoff: BackoffOptions;
  readonly #failureIntervalMs: number;
  readonly #now: () => number;
  /** Ready, with the time since when. */
  readonly #ready = new Map<string, number>();
  /** With a worker, with the time since when. */
  readonly #active = new Map<string, number>();
  readonly #again = new Set<string>();
  readonly #later = new Map<string, { at: number; timer: NodeJS.Timeout }>();
  readonly #failing = new Map<string, Failing>();
  readonly #counts: QueueCounts;
  readonly #takers: ((key: string | undefined) => void)[] = [];
  #closed = false;

  constructor({
    baseMs = 100,
    maxMs = 300_000,
    random,
    failureIntervalMs = 1_000,
    now,
    counts = noQueueCounts(),
  }: WorkQueueOptions = {}) {
    this.#backoff = random === undefined ? { baseMs, maxMs } : { baseMs, maxMs, random };
    this.#failureIntervalMs = failureIntervalMs;
    this.#now = now ?? (() => performance.now());
    this.#counts = counts;
  }

  /** Something happened to the key. */
  add(key: string): void {
    const failing = this.#failing.get(key);
    const wait = failing === undefined ? 0 : failing.since + failing.intervalMs - this.#now();
    if (wait > 0) this.addAfter(key, wait);
    else this.#enqueue(key);
  }

  /** Adds the key after the time, unless it comes earlier anyway. */
  addAfter(key: string, milliseconds: number): void {
    if (this.#closed || this.#ready.has(key)) return;
    const at = this.#now() + milliseconds;
    const planned = this.#later.get(key);
    if (planned !== undefined) {
      if (planned.at <= at) return;
      clearTimeout(planned.timer);
    }
    // Longer waits than a timer allows start over when it fires.
    const timer = setTimeout(() => this.#due(key), timerMs(milliseconds));
    this.#later.set(key, { at, timer });
  }

  /** The work failed: the key comes again after a back-off that grows with every failure. Returns the delay. */
  retry(key: string): number {
    const count = (this.#failing.get(key)?.count ?? 0) + 1;
    const delayMs = backoffMs(count, this.#backoff);
    const intervalMs = Math.min(delayMs, this.#failureIntervalMs);
    this.#failing.set(key, { count, since: this.#now(), intervalMs });
    this.#counts.retries += 1;
    this.addAfter(key, delayMs);
    return delayMs;
  }

  /** The work succeeded: the next failure is a first one. */
  forget(key: string): void {
    this.#failing.delete(key);
  }

  failures(key: string): number {
    return this.#failing.get(key)?.count ?? 0;
  }

  /** The key is ready or with a worker; one that waits for its time is not. */
  isBusy(key: string): boolean {
    return this.#ready.has(key) || this.#active.has(key);
  }

  /** The key waits for its time. */
  isPlanned(key: string): boolean {
    return this.#later.has(key);
  }

  /** No key is ready, and no worker has one. */
  get idle(): boolean {
    return this.#ready.size === 0 && this.#active.size === 0;
  }

  /** The next key, which is the caller's until `done(key)`; undefined when the queue is closed. */
  take(): Promise<string | undefined> {
    if (this.#closed) return Promise.resolve(undefined);
    for (const [key, since] of this.#ready) {
      this.#ready.delete(key);
      const now = this.#now();
      this.#counts.waited.took(now - since);
      this.#active.set(key, now);
      return Promise.resolve(key);
    }
    return new Promise((resolve) => this.#takers.push(resolve));
  }

  done(key: string): void {
    const since = this.#active.get(key);
    if (since !== undefined) this.#counts.worked.took(this.#now() - since);
    this.#active.delete(key);
    if (this.#again.delete(key)) this.add(key);
  }

  /** No worker gets a key any more; timers stop. */
  close(): void {
    this.#closed = true;
    for (const { timer } of this.#later.values()) clearTimeout(timer);
    this.#later.clear();
    for (const taker of this.#takers.splice(0)) taker(undefined);
  }

  /** Keys that are ready now; those that wait for their time are not counted. */
  get length(): number {
    return this.#ready.size;
  }

  /** How long the oldest ready key has been waiting, in milliseconds. */
  get oldestMs(): number {
    const [since] = this.#ready.values();
    return since === undefined ? 0 : this.#now() - since;
  }

  /** How long those keys have been with a worker that are with one, in milliseconds. */
  get activeMs(): number[] {
    const now = this.#now();
    return [...this.#active.values()].map((since) => now - since);
  }

  #due(key: string): void {
    const planned = this.#later.get(key);
    this.#later.delete(key);
    const left = (planned?.at ?? 0) - this.#now();
    if (left > 1) this.addAfter(key, left);
    else this.#enqueue(key);
  }

  #enqueue(key: string): void {
    if (this.#closed || this.#ready.has(key)) return;
    if (this.#active.has(key)) {
      this.#again.add(key);
      return;
    }
    const planned = this.#later.get(key);
    if (planned !== undefined) clearTimeout(planned.timer);
    this.#later.delete(key);
    this.#counts.adds += 1;
    const now = this.#now();
    // Who waits shortest goes first: the others may never be needed.
    const taker = this.#takers.pop();
    if (taker === undefined) {
      this.#ready.set(key, now);
      return;
    }
    this.#counts.waited.took(0);
    this.#active.set(key, now);
    taker(key);
  }
}
