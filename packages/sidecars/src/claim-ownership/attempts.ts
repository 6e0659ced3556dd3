import { msLeft } from "@mooring/store";

/** How long a node waits before it takes a claim. Times in milliseconds. */
export interface AttemptOptions {
  /** Before the first attempt, at most; twice as long after each one that failed. */
  baseMs: number;
  maxMs: number;
  now: () => number;
  /** From 0 up to 1; default `Math.random`. */
  random?: () => number;
}

interface Attempt {
  failures: number;
  since: number;
  forMs: number;
  /** What the driver said when the attempt was due. */
  hasRoom: boolean | undefined;
}

/**
 * When this node may try to get each claim. All nodes see a claim at once, and each waits for a time of its own, as
 * external-provisioner has it: one of them comes first, and the others see that before their time.
 */
export class Attempts {
  readonly #options: AttemptOptions;
  readonly #attempts = new Map<string, Attempt>();

  constructor(options: AttemptOptions) {
    this.#options = options;
  }

  /** Milliseconds until the attempt; the first call for a claim begins the time. */
  remaining(uid: string): number {
    return msLeft({ ...this.#of(uid), now: this.#options.now() });
  }

  hasRoom(uid: string): boolean | undefined {
    return this.#attempts.get(uid)?.hasRoom;
  }

  recordRoom(uid: string, hasRoom: boolean): void {
    this.#attempts.set(uid, { ...this.#of(uid), hasRoom });
  }

  /** The next one comes later. Returns how many have failed. */
  fail(uid: string): number {
    const failures = this.#of(uid).failures + 1;
    this.#attempts.set(uid, this.#after(failures));
    return failures;
  }

  forget(uid: string): void {
    this.#attempts.delete(uid);
  }

  #of(uid: string): Attempt {
    let attempt = this.#attempts.get(uid);
    if (attempt === undefined) {
      attempt = this.#after(0);
      this.#attempts.set(uid, attempt);
    }
    return attempt;
  }

  #after(failures: number): Attempt {
    const { baseMs, maxMs, now, random = Math.random } = this.#options;
    const delayMs = Math.min(baseMs * 2 ** failures, maxMs);
    const forMs = Math.max(0, delayMs - random() * baseMs);
    return { failures, since: now(), forMs, hasRoom: undefined };
  }
}
