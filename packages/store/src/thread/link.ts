import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import { StatusError } from "../object/status-error.ts";
import { opened } from "./errors.ts";
import type { AtOnce, Call, Notice, Numbered, Outcome, StoreLink } from "./protocol.ts";

/** The thread of the store answers in its next turn; without a response for so long it has gone. */
const LONGEST_MS = 60_000;

/** Asks the thread that has the store. */
export class Link {
  readonly #calls: MessagePort;
  readonly #atOnce: MessagePort;
  readonly #answered: Int32Array;
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: unknown): void }>();
  #next = 0;
  #closed = false;

  constructor({ calls, atOnce, answered }: StoreLink) {
    this.#calls = calls;
    this.#atOnce = atOnce;
    this.#answered = new Int32Array(answered);
    calls.on("message", (message: Numbered<Outcome>) => this.#settle(message));
    calls.once("close", () => this.close());
  }

  /** Waits, and this whole thread with it, for what the other one has in memory. */
  atOnce(request: AtOnce): unknown {
    if (this.#closed) throw closed();
    const before = Atomics.load(this.#answered, 0);
    this.#atOnce.postMessage(request);
    // A notice of the response before may come late: what counts is the number.
    while (Atomics.load(this.#answered, 0) === before) {
      if (Atomics.wait(this.#answered, 0, before, LONGEST_MS) !== "timed-out") continue;
      this.close();
      throw closed();
    }
    const received = receiveMessageOnPort(this.#atOnce);
    if (received === undefined) throw closed();
    return opened(received.message as Outcome);
  }

  call(request: Call): Promise<unknown> {
    if (this.#closed) return Promise.reject(closed());
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#calls.postMessage({ id, ...request });
    });
  }

  note(notice: Notice): void {
    if (!this.#closed) this.#calls.postMessage(notice);
  }

  close(): void {
    this.#closed = true;
    this.#calls.close();
    this.#atOnce.close();
    for (const { reject } of this.#waiting.values()) reject(closed());
    this.#waiting.clear();
  }

  #settle({ id, ...outcome }: Numbered<Outcome>): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    try {
      waiting?.resolve(opened(outcome as Outcome));
    } catch (error) {
      waiting?.reject(error);
    }
  }
}

const closed = () => new StatusError("ServiceUnavailable", "the store is closed");
