/** Longer than an agent that starts again needs to be back, on any machine. */
const GRACE_MS = 40_000;

/** For how long nodes have had no NodeAgent object, as this process saw it: after a restart each gets its time anew. */
export class Absences {
  readonly #since = new Map<string, number>();
  readonly #now: () => number;

  /** `now`: milliseconds of a clock that an operator cannot set. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Those of the nodes whose object has been away for longer than any agent that is alive would leave it. */
  update(nodeIDs: readonly string[], present: { has(nodeID: string): boolean }): Set<string> {
    const now = this.#now();
    for (const node of this.#since.keys()) if (present.has(node)) this.#since.delete(node);
    const missing = nodeIDs.filter((node) => node !== "" && !present.has(node));
    for (const node of missing) if (!this.#since.has(node)) this.#since.set(node, now);
    return new Set(missing.filter((node) => now - (this.#since.get(node) ?? now) >= GRACE_MS));
  }
}
