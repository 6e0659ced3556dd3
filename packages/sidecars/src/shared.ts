import { setMaxListeners } from "node:events";
import { defined, firstOf, type Logger, type ObjectStore } from "@mooring/store";
import { Caches } from "./kube/caches.ts";
import { runAsLeader } from "./leader.ts";
import type { LeaderElectionOptions } from "./options.ts";

/** What the control planes of several drivers have together in one process. */
export interface Shared {
  /** For what runs in every process, whoever leads. */
  caches: Caches;
  leadership: Leadership;
  names: DriverNames;
}

/** Which socket speaks for a driver: two would both be called for the same claims. */
export class DriverNames {
  readonly #endpoints = new Map<string, string>();

  /** Returns how to release the name. Throws where another socket has it. */
  take(name: string, endpoint: string): () => void {
    const other = this.#endpoints.get(name);
    if (other !== undefined)
      throw new Error(
        `the driver at ${endpoint} says that it is ${name}, which is the one at ${other}; take one of them away`,
      );
    this.#endpoints.set(name, endpoint);
    return () => void this.#endpoints.delete(name);
  }
}

/** Of all processes for these drivers. */
export const COMMON_LEASE = "mooring-sidecars";

/** A time in which this process leads, and the caches that are as old as it is. */
interface Term {
  signal: AbortSignal;
  caches: Caches;
}

type Work = (term: AbortSignal, caches: Caches) => Promise<void>;

interface LeadershipOptions {
  store: ObjectStore;
  logger: Logger;
  /** Of the process, for who leads all the time. */
  caches: Caches;
  /** Default: this process leads all the time. */
  leaderElection?: LeaderElectionOptions;
  /** Of the Lease, unless the options name another. */
  namespace?: string;
}

/**
 * One lease for the work of all drivers. A driver joins and leaves a term as it comes and goes; the term ends when the lease is
 * lost, and the lease is given back when the work of every driver has ended.
 */
export class Leadership {
  #term: Term | undefined;
  readonly #awaiting = new Set<() => void>();
  readonly #working = new Set<Promise<void>>();

  /** Competes for the lease, or leads at once, until the signal. */
  async run(options: LeadershipOptions, signal: AbortSignal): Promise<void> {
    const { store, logger, caches, leaderElection, namespace } = options;
    if (leaderElection === undefined) return this.#lead({ signal, caches });
    // A cache that outlived a term could be older than what the next leader has done.
    const lead = (term: AbortSignal) => this.#lead({ signal: term, caches: new Caches(store, logger, term) });
    const candidate = { store, logger, name: COMMON_LEASE, ...defined({ namespace }) };
    await runAsLeader(candidate, leaderElection, lead, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }

  /** Works whenever this process leads, until the signal. Rejects when the work does. */
  async whileLeading(work: Work, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const term = this.#term;
      if (term === undefined) await this.#begun(signal);
      else await this.#join(term, work, signal);
    }
  }

  /** Ends with the term, when the last driver's work has. */
  async #lead(term: Term): Promise<void> {
    setMaxListeners(0, term.signal);
    this.#term = term;
    for (const go of this.#awaiting) go();
    await aborted(term.signal);
    this.#term = undefined;
    await Promise.allSettled(this.#working);
    await term.caches.done;
  }

  async #join(term: Term, work: Work, signal: AbortSignal): Promise<void> {
    // A driver that has nothing to do stays in the term, and does not ask again.
    const working = firstOf([term.signal, signal], (over) =>
      work(over, term.caches).then(() => aborted(over)),
    );
    this.#working.add(working);
    try {
      await working;
    } finally {
      this.#working.delete(working);
    }
  }

  async #begun(signal: AbortSignal): Promise<void> {
    const { promise, go } = gate();
    this.#awaiting.add(go);
    signal.addEventListener("abort", go, { once: true });
    await promise;
    this.#awaiting.delete(go);
    signal.removeEventListener("abort", go);
  }
}

function gate(): { promise: Promise<void>; go: () => void } {
  let go = () => {};
  const promise = new Promise<void>((resolve) => {
    go = resolve;
  });
  return { promise, go };
}

function aborted(signal: AbortSignal): Promise<void> {
  const { promise, go } = gate();
  if (signal.aborted) go();
  else signal.addEventListener("abort", go, { once: true });
  return promise;
}
