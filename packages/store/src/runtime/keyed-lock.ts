/** One holder per key at a time, first come first served. `acquire` resolves to the release. */
export class KeyedLock {
  readonly #tails = new Map<string, Promise<void>>();

  async acquire(key: string): Promise<() => void> {
    const before = this.#tails.get(key);
    let release = (): void => {};
    const mine = new Promise<void>((resolve) => {
      release = resolve;
    });
    const tail = (before ?? Promise.resolve()).then(() => mine);
    this.#tails.set(key, tail);
    await before;
    return () => {
      release();
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    };
  }

  /** A caller has the key, or waits for it. */
  isHeld(key: string): boolean {
    return this.#tails.has(key);
  }

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const release = await this.acquire(key);
    try {
      return await work();
    } finally {
      release();
    }
  }
}
