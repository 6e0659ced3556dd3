/**
 * A read that many ask for at once: one goes on at a time, and all who ask meanwhile get what the next one finds. So nobody gets
 * what is from before he asked.
 */
export class NextRead<T> {
  readonly #read: () => Promise<T>;
  #now: Promise<unknown> | undefined;
  #next: Promise<T> | undefined;

  constructor(read: () => Promise<T>) {
    this.#read = read;
  }

  wait(): Promise<T> {
    this.#next ??= this.#begin();
    return this.#next;
  }

  async #begin(): Promise<T> {
    // How the one before ends concerns those who wait for it.
    await this.#now?.catch(() => {});
    const reading = this.#read();
    this.#now = reading;
    this.#next = undefined;
    try {
      return await reading;
    } finally {
      if (this.#now === reading) this.#now = undefined;
    }
  }
}
