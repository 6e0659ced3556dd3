import { Spawner } from "./spawner.ts";

/** A process that starts only a few programs does without a spawner, which costs a process and some 40 MB. */
const WORTH_IT = 20;

/** Has one spawner at a time, started when it is worth it, and anew when it lacks a file or has ended. */
export class Spawners {
  readonly #worthIt: number;
  readonly #all = new Set<Spawner>();
  #current: Spawner | undefined;
  #asked = 0;

  constructor(worthIt: number = WORTH_IT) {
    this.#worthIt = worthIt;
  }

  get current(): Spawner | undefined {
    return this.#current;
  }

  /** Undefined: start the program yourself. `needed`: only a spawner can do it, be it worth it or not. */
  take(files: readonly number[], needed = false): Spawner | undefined {
    if (this.#current?.canRun(files)) return this.#current;
    this.#asked += 1;
    if (!needed && this.#asked <= this.#worthIt) return undefined;
    this.#renew(files);
    return this.#current?.canRun(files) ? this.#current : undefined;
  }

  /** To be called before a file is closed that programs have inherited: no spawner has a copy any more afterwards. */
  async release(fd: number): Promise<void> {
    await Promise.all([...this.#all].map((spawner) => spawner.release(fd)));
  }

  #renew(files: readonly number[]): void {
    this.#current?.retire();
    for (const spawner of this.#all) if (!spawner.canRun([])) this.#all.delete(spawner);
    // A spawner that cannot live here is not tried for ever.
    this.#asked = 0;
    try {
      this.#current = new Spawner(files);
      this.#all.add(this.#current);
    } catch {
      this.#current = undefined;
    }
  }
}
