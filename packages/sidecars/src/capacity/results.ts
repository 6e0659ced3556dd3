import type { CapacityResult } from "./decide.ts";

interface StoredResult extends Omit<CapacityResult, "stale"> {
  /** What was asked for, and how many changes of volumes had been seen then. */
  parameters: string;
  changes: number;
}

/** What the driver has reported about each slot, by key. */
export class CapacityResults {
  readonly #results = new Map<string, StoredResult>();
  #changes = 0;

  of(key: string, parameters: Record<string, string>): CapacityResult | undefined {
    const stored = this.#results.get(key);
    if (stored === undefined) return undefined;
    const { at, amount } = stored;
    const stale = stored.changes !== this.#changes || stored.parameters !== JSON.stringify(parameters);
    return { at, amount, stale };
  }

  /** Before the call: what changes while it runs makes the result stale. */
  asked(key: string, at: number, parameters: Record<string, string>): void {
    const amount = this.#results.get(key)?.amount;
    this.#results.set(key, { at, amount, parameters: JSON.stringify(parameters), changes: this.#changes });
  }

  received(key: string, amount: CapacityResult["amount"]): void {
    const stored = this.#results.get(key);
    if (stored !== undefined) this.#results.set(key, { ...stored, amount });
  }

  /** Volumes came or went. */
  changed(): void {
    this.#changes += 1;
  }

  forget(key: string): void {
    this.#results.delete(key);
  }
}
