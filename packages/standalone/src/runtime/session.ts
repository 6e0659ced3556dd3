import type { Readable, Writable } from "node:stream";

/** How the program of an exec is connected to the client that started it. */
export interface SessionOptions {
  /** It reads from `stdin`; else it has `/dev/null`. */
  stdin: boolean;
  /** It has a terminal, to which it writes its errors as well. */
  tty: boolean;
}

/** A program that runs in a container beside the container's own. */
export interface ExecSession {
  /** Ended by who writes it; absent where nothing is read. */
  readonly stdin?: Writable;
  readonly stdout: Readable;
  /** Absent with a terminal. */
  readonly stderr?: Readable;
  /** Of the terminal, in characters. */
  resize(size: { columns: number; rows: number }): void;
  /**
   * Its exit code, 128 + n when signal n has ended it; its output may not have been read yet. Rejects with
   * {@link ExecStartError} when it could not be started.
   */
  readonly exit: Promise<number>;
  /** Ends it, also before it has begun. */
  kill(): Promise<void>;
}
