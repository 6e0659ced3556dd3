import { closeSync, fstatSync, openSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { StatusError } from "../object/status-error.ts";
import { StoreOpenError } from "./open-error.ts";

/** LMDB's codes for pages that are not there, or not what they have to be (`MDB_PAGE_NOTFOUND`, `MDB_CORRUPTED`, `MDB_PANIC`). */
const BROKEN: ReadonlySet<number> = new Set([-30797, -30796, -30795]);

/** What is done with a file that can be read no more: `error` says which one, and what has become of it. Does not return. */
export type OnLost = (error: StoreOpenError) => never;

function throwIt(error: StoreOpenError): never {
  throw error;
}

/**
 * Whether the file of an open store is still as LMDB has left it. It was whole when it was opened, and is LMDB's alone: what
 * changes afterwards is the work of a disk, or of somebody who has written into it.
 */
export class WholeFile {
  readonly #path: string;
  readonly #fd: number;
  readonly #onLost: OnLost;
  #bytes = 0;
  #damage: string | undefined;

  constructor(path: string, onLost: OnLost = throwIt) {
    this.#path = path;
    this.#fd = openSync(path, "r");
    this.#onLost = onLost;
  }

  /** What was found to be damaged, and the way out; stays until the store is opened again. */
  get damage(): string | undefined {
    return this.#damage;
  }

  /**
   * Before pages are read: the file never gets shorter, since LMDB keeps what it has once taken. It is mapped, and a page
   * behind its end would end the process by SIGBUS, without a word.
   */
  requireLength(): void {
    const { size } = fstatSync(this.#fd);
    if (size >= this.#bytes) {
      this.#bytes = size;
      return;
    }
    const message = `${this.#path} was truncated to ${size} bytes while it was open; it had ${this.#bytes}`;
    this.#note(message);
    this.#onLost(new StoreOpenError("Damaged", message, { file: this.#path }));
  }

  /** Does what reads pages. Throws InternalError for damage that LMDB finds. */
  reading<T>(read: () => T): T {
    this.requireLength();
    try {
      return read();
    } catch (error) {
      throw this.found(error);
    }
  }

  /** The error of something that read pages: InternalError where LMDB, or a copy that was checked, has found damage. */
  found(error: unknown): unknown {
    if (error instanceof StoreOpenError && error.reason === "Damaged")
      return this.#note(error.message) && error;
    const code = error instanceof Error && "code" in error ? Number(error.code) : 0;
    return BROKEN.has(code) ? this.damaged(`LMDB reports: ${(error as Error).message}`) : error;
  }

  /** InternalError; from now on {@link damage} says so as well. */
  damaged(what: string): StatusError {
    const damage = this.#note(`${this.#path} has been damaged on disk: ${what}`);
    return new StatusError("InternalError", `Internal error occurred: ${damage}`);
  }

  #note(what: string): string {
    const stateDir = dirname(dirname(resolve(this.#path)));
    const wayOut = `stop Mooring, and put back the newest copy with \`mooring state restore --state-dir ${stateDir}\``;
    const damage = `${what}; ${wayOut}`;
    this.#damage ??= damage;
    return damage;
  }

  close(): void {
    closeSync(this.#fd);
  }
}
