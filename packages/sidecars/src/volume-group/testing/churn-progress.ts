import { backlogs, reconcileCounts } from "@mooring/store";
import { currentPart } from "@mooring/store/testing";
import type { ScriptedDriver } from "../../testing/scripted-driver.ts";

/** Changes between two lines. */
const PERIOD = 1_000;

/** Counts the calls of a long run, which need not be remembered one by one, and prints how far a deep one is. */
export class ChurnProgress {
  readonly #driver: ScriptedDriver;
  readonly #counts = new Map<string, number>();
  readonly #begun = performance.now();
  #deepest = 0;

  constructor(driver: ScriptedDriver) {
    this.#driver = driver;
  }

  /** How often a method was called. */
  calls(method: string): number {
    this.#count();
    return this.#counts.get(method) ?? 0;
  }

  /** While changes are under way: what waits for the operators. */
  read(): void {
    for (const { ready } of backlogs()) this.#deepest = Math.max(this.#deepest, ready);
  }

  /** So many changes are made, and all is as it should be. */
  note(changes: number): void {
    this.#count();
    if (currentPart() !== "deep" || changes % PERIOD !== 0) return;
    const seconds = Math.round((performance.now() - this.#begun) / 1_000);
    const calls = [...this.#counts].map(([method, count]) => `${method} ${count}`).join(", ");
    const { steps = 0, conflicts = 0, failures = 0 } = reconcileCounts().get("volume-group") ?? {};
    const heapMiB = Math.round(process.memoryUsage().heapUsed / 2 ** 20);
    process.stderr.write(
      `${changes} changes, ${seconds} s: ${steps} steps, ${conflicts} conflicts, ${failures} failures, ` +
        `at most ${this.#deepest} keys waiting; ${calls}; heap ${heapMiB} MiB\n`,
    );
    this.#deepest = 0;
  }

  #count(): void {
    for (const { method } of this.#driver.calls.splice(0))
      this.#counts.set(method, (this.#counts.get(method) ?? 0) + 1);
  }
}
