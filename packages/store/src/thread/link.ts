import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import { StatusError } from "../object/status-error.ts";
import { opened } from "./errors.ts";
import {
  type AtOnce,
  type Call,
  ENDED,
  type Notice,
  type Numbered,
  type Outcome,
  RESPONSES,
  type StoreLink,
} from "./protocol.ts";

/** Asks the thread that has the store. */
export class Link {
  readonly #calls: MessagePort;
  readonly #atOnce: MessagePort;
  readonly #numbers: Int32Array;
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: unknown): void }>();
  #next = 0;
  #closed = false;

  constructor({ calls, atOnce, responses }: StoreLink) {
    this.#calls = calls;
    this.#atOnce = atOnce;
    this.#numbers = new Int32Array(responses);
    calls.on("message", (message: Numbered<Outcome>) => this.#settle(message));
    calls.once("close", () => this.close());
  }

  /**
   * Waits, and this whole thread with it, for what the other one has in memory. There is no time after which it is given up:
   * the other one responds in its next turn, unless the whole process stands still.
   */
  atOnce(request: AtOnce): unknown {
    if (this.#closed) throw closed();
    const before = Atomics.load(this.#numbers, RESPONSES);
    this.#atOnce.postMessage(request);
    // A notice of the response before may come late: what counts is the number.
    while (Atomics.load(this.#numbers, RESPONSES) === before && !this.#ended())
      Atomics.wait(this.#numbers, RESPONSES, before);
    const received = receiveMessageOnPort(this.#atOnce);
    if (received === undefined) {
      this.close();
      throw closed();
    }
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

  /** The other thread serves the store no more. */
  #ended(): boolean {
    return Atomics.load(this.#numbers, ENDED) === 1;
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
