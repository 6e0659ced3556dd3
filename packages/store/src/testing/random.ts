/** Choices that a seed decides, so that a run can be repeated (mulberry32: small, fast, and good enough to choose inputs with). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 up to, not including, 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0 to `limit - 1`. */
  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  /** From `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  /** True in this part of the cases: 0.25 is one of four. */
  chance(part: number): boolean {
    return this.next() < part;
  }

  one<T>(list: readonly T[]): T {
    const [chosen] = list.slice(this.below(list.length));
    if (chosen === undefined) throw new Error("nothing to choose from");
    return chosen;
  }

  /** One of them, the more often the more it weighs. */
  weighted<T extends { weight: number }>(list: readonly T[]): T {
    let at = this.below(list.reduce((sum, { weight }) => sum + weight, 0));
    for (const each of list) {
      at -= each.weight;
      if (at < 0) return each;
    }
    throw new Error("nothing to choose from");
  }

  /** A generator of its own, so that what one client does never depends on how often another has asked. */
  fork(): Random {
    return new Random(this.below(2 ** 32));
  }
}
