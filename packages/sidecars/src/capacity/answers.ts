import type { Answer } from "./decide.ts";

interface Told extends Omit<Answer, "stale"> {
  /** What was asked for, and how many changes of volumes had been seen then. */
  parameters: string;
  changes: number;
}

/** What the driver has said about each slot, by key. */
export class Answers {
  readonly #told = new Map<string, Told>();
  #changes = 0;

  of(key: string, parameters: Record<string, string>): Answer | undefined {
    const told = this.#told.get(key);
    if (told === undefined) return undefined;
    const { at, amount } = told;
    const stale = told.changes !== this.#changes || told.parameters !== JSON.stringify(parameters);
    return { at, amount, stale };
  }

  /** Before the question: what changes while it is answered makes the answer stale. */
  asked(key: string, at: number, parameters: Record<string, string>): void {
    const amount = this.#told.get(key)?.amount;
    this.#told.set(key, { at, amount, parameters: JSON.stringify(parameters), changes: this.#changes });
  }

  answered(key: string, amount: Answer["amount"]): void {
    const told = this.#told.get(key);
    if (told !== undefined) this.#told.set(key, { ...told, amount });
  }

  /** Volumes came or went. */
  changed(): void {
    this.#changes += 1;
  }

  forget(key: string): void {
    this.#told.delete(key);
  }
}
