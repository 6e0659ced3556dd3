import type { Duplex } from "node:stream";
import { controlFrame, Type, twoNumbers } from "./frames.ts";

/** A client that does flow control by the book sends 64 KiB that it was not granted anew; it is granted half of that at a time. */
const GRANT = 32 * 1024;

/** What is written to a connection. */
export class Outlet {
  readonly #connection: Duplex;
  /** Those who wait for a frame of theirs to be with the kernel. */
  readonly #waiting = new Set<() => void>();
  /** By stream, and by 0 for all of them: what was taken of the client, and not yet granted. */
  readonly #taken = new Map<number, number>();
  #grantsLater = false;

  constructor(connection: Duplex) {
    this.#connection = connection;
    connection.once("close", () => {
      for (const resolve of this.#waiting) resolve();
    });
  }

  /** It has more than enough to send. */
  get isFull(): boolean {
    return this.#connection.writableNeedDrain;
  }

  /** Resolves when it is with the kernel, or the connection has ended. */
  send(frame: Buffer): Promise<void> {
    if (this.#connection.destroyed || this.#connection.writableEnded) return Promise.resolve();
    return new Promise((resolve) => {
      const sent = () => {
        this.#waiting.delete(sent);
        resolve();
      };
      this.#waiting.add(sent);
      this.#connection.write(frame, sent);
    });
  }

  /** The client may send so many bytes more, of this stream and in all. Kubernetes' clients ignore it: TCP alone slows them down. */
  grant(stream: number, bytes: number): void {
    for (const each of new Set([0, stream])) this.#taken.set(each, (this.#taken.get(each) ?? 0) + bytes);
    this.#sendGrants();
  }

  forget(stream: number): void {
    this.#taken.delete(stream);
  }

  #sendGrants(): void {
    if (this.isFull) {
      if (this.#grantsLater) return;
      this.#grantsLater = true;
      this.#connection.once("drain", () => {
        this.#grantsLater = false;
        this.#sendGrants();
      });
      return;
    }
    for (const [stream, bytes] of this.#taken) {
      if (bytes < GRANT) continue;
      this.#taken.delete(stream);
      void this.send(controlFrame(Type.windowUpdate, twoNumbers(stream, bytes)));
    }
  }
}
