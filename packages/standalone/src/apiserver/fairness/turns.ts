import { StatusError } from "@mooring/store";

/** Requests that are worked on at the same time, over all users; those that wait for ever (watches, logs) do not count. */
const SEATS = 64;
/** Of them, those of one user: what costs much keeps their own requests waiting, and no other user's. */
const SEATS_OF_ONE = 16;
/** Requests of one user that wait; the next one is asked to retry. */
const MOST_WAITING = 128;
/** A request that has not had its turn by then is asked to retry. */
const LONGEST_WAIT_MS = 15_000;
const RETRY_SECONDS = 1;

interface Waiting {
  go(): void;
  timer: NodeJS.Timeout | undefined;
}

interface TurnsOptions {
  seats?: number;
  /** Of one user. */
  seatsOfOne?: number;
  mostWaiting?: number;
  longestWaitMs?: number;
}

/** The place of a request that is worked on. */
export interface Seat {
  /** Gives it to the next request, for as long as the request waits for its client. */
  pause(): void;
  /** Takes one again, before other requests of the same user and however long that lasts: the response has begun. */
  resume(): Promise<void>;
  /** Gives it back for good. */
  leave(): void;
}

/**
 * Users take turns, one request each, when there are more requests than seats: a user who sends a thousand waits behind their
 * own, and everybody else for one of theirs. Those who keep the place running do not wait at all.
 */
export class Turns {
  readonly #options: Required<TurnsOptions>;
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #taken = new Map<string, number>();
  #allTaken = 0;

  constructor({
    seats = SEATS,
    seatsOfOne = SEATS_OF_ONE,
    mostWaiting = MOST_WAITING,
    longestWaitMs = LONGEST_WAIT_MS,
  }: TurnsOptions = {}) {
    this.#options = { seats, seatsOfOne, mostWaiting, longestWaitMs };
  }

  /** Resolves when it is the user's turn. Throws TooManyRequests (429). */
  async take(user: string): Promise<Seat> {
    if (!this.#occupy(user)) await this.#wait(user);
    return this.#seat(user);
  }

  #seat(user: string): Seat {
    let is: "taken" | "paused" | "left" = "taken";
    const become = (next: "paused" | "left") => {
      if (is === "taken") this.#leave(user);
      if (is !== "left") is = next;
    };
    return {
      pause: () => become("paused"),
      leave: () => become("left"),
      resume: async () => {
        if (is !== "paused") return;
        if (!this.#occupy(user)) await this.#waitToGoOn(user);
        // The request may have ended while it waited.
        if (is === "paused") is = "taken";
        else this.#leave(user);
      },
    };
  }

  #wait(user: string): Promise<void> {
    const { mostWaiting, longestWaitMs } = this.#options;
    const queue = this.#queueOf(user);
    if (queue.length >= mostWaiting) return Promise.reject(busy());
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { go: resolve, timer: setTimeout(late, longestWaitMs) };
      function late(): void {
        queue.splice(queue.indexOf(waiting), 1);
        reject(busy());
      }
      queue.push(waiting);
      this.#waiting.set(user, queue);
    });
  }

  #waitToGoOn(user: string): Promise<void> {
    return new Promise((go) => {
      const queue = this.#queueOf(user);
      queue.unshift({ go, timer: undefined });
      this.#waiting.set(user, queue);
    });
  }

  #queueOf(user: string): Waiting[] {
    return this.#waiting.get(user) ?? [];
  }

  #mayHaveMore(user: string): boolean {
    return (this.#taken.get(user) ?? 0) < this.#options.seatsOfOne;
  }

  /** False: there is none. */
  #occupy(user: string): boolean {
    if (this.#allTaken >= this.#options.seats || !this.#mayHaveMore(user)) return false;
    this.#taken.set(user, (this.#taken.get(user) ?? 0) + 1);
    this.#allTaken += 1;
    return true;
  }

  /** The seat goes to the user whose turn it is, who is the last one then. */
  #leave(from: string): void {
    const left = (this.#taken.get(from) ?? 0) - 1;
    if (left > 0) this.#taken.set(from, left);
    else this.#taken.delete(from);
    this.#allTaken -= 1;
    for (const [user, queue] of this.#waiting) {
      if (queue.length > 0 && !this.#mayHaveMore(user)) continue;
      this.#waiting.delete(user);
      const next = queue.shift();
      if (next === undefined) continue;
      if (queue.length > 0) this.#waiting.set(user, queue);
      clearTimeout(next.timer);
      this.#occupy(user);
      next.go();
      return;
    }
  }
}

function busy(): StatusError {
  return new StatusError("TooManyRequests", "too many requests, please try again later", {
    retryAfterSeconds: RETRY_SECONDS,
  });
}
