import type { Writable } from "node:stream";
import type { ExecSession } from "../runtime/index.ts";
import type { Client, Listener, TerminalSize } from "./client.ts";

/** Nothing more is read of a client that has sent so much before its program has begun. */
const EARLY_BYTES = 64 * 1024;

/** What a client sends to its program, from before that has begun. */
export class ProgramInput implements Listener {
  #client: Client | undefined;
  #session: ExecSession | undefined;
  readonly #early: Buffer[] = [];
  #earlyBytes = 0;
  #size: TerminalSize | undefined;
  #isOver = false;
  #isFull = false;

  stdin(bytes: Buffer): void {
    if (this.#session !== undefined) {
      this.#feed(this.#session.stdin, bytes);
      return;
    }
    this.#early.push(bytes);
    this.#earlyBytes += bytes.length;
    if (this.#earlyBytes > EARLY_BYTES) this.#client?.pause();
  }

  stdinEnd(): void {
    this.#isOver = true;
    this.#session?.stdin?.end();
  }

  resize(size: TerminalSize): void {
    this.#size = size;
    this.#session?.resize(size);
  }

  /** Whom to pause. */
  from(client: Client): void {
    this.#client = client;
    if (this.#earlyBytes > EARLY_BYTES) client.pause();
  }

  /** The program has begun. */
  to(session: ExecSession): void {
    this.#session = session;
    if (this.#size !== undefined) session.resize(this.#size);
    this.#client?.resume();
    session.stdin?.on("drain", () => this.#goOn()).once("close", () => this.#goOn());
    for (const bytes of this.#early.splice(0)) this.#feed(session.stdin, bytes);
    if (this.#isOver) session.stdin?.end();
  }

  #feed(stdin: Writable | undefined, bytes: Buffer): void {
    if (stdin === undefined || !stdin.writable || stdin.write(bytes) || this.#isFull) return;
    this.#isFull = true;
    this.#client?.pause();
  }

  #goOn(): void {
    if (!this.#isFull) return;
    this.#isFull = false;
    this.#client?.resume();
  }
}
