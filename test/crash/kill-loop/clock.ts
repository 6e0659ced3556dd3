import { rename, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const SHIM = fileURLToPath(new URL("clock-shim.mjs", import.meta.url));

/** The wall clock of processes that are started with its environment. That of the machine is never touched. */
export class Clock {
  readonly #file: string;
  /** Milliseconds by which it differs from the machine's. */
  offset = 0;

  /** `file`: where its processes read how far off they are. */
  constructor(file: string) {
    this.#file = file;
  }

  get env(): Record<string, string> {
    return { NODE_OPTIONS: `--import=${SHIM}`, MOORING_TEST_CLOCK: this.#file };
  }

  now(): number {
    return Date.now() + this.offset;
  }

  async set(offset: number): Promise<void> {
    await writeFile(`${this.#file}.new`, String(offset));
    await rename(`${this.#file}.new`, this.#file);
    this.offset = offset;
  }
}
