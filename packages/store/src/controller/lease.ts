import { type Lease, Leases } from "../kinds/kubernetes.ts";
import { defined } from "../object/defined.ts";
import type { ObjectStore } from "../object-store.ts";
import { type Logger, silentLogger } from "../runtime/logger.ts";
import { delay, within } from "../runtime/wait.ts";
import { getIfAny } from "./get-if-any.ts";
import { decideLease, type LeaseObservation } from "./lease-decide.ts";

/** Which Lease is wanted, by whom, and the times of its election. */
export interface LeaseOptions {
  name: string;
  namespace: string;
  /** Unique among those who want the lease: host name and a random part. */
  identity: string;
  /** After this long without a renewal others may take the lease; default 15,000. */
  durationMs?: number;
  /** The holder gives up when it could not renew for this long; must be shorter than the duration. Default 10,000. */
  renewDeadlineMs?: number;
  /** Between attempts; default 2,000. */
  retryMs?: number;
  labels?: Record<string, string>;
  logger?: Logger;
}

/** A lease that this process holds. */
export interface HeldLease {
  /** Aborts when the lease is lost or released: stop everything that needs it. */
  readonly lost: AbortSignal;
  /** Gives the lease back, so that the next holder need not wait for it to run out. */
  release(): Promise<void>;
}

/**
 * Waits until this process holds the lease, then keeps it renewed. Give it a store with connections of its own, so
 * that other traffic cannot delay renewals. Rejects with the signal's reason.
 */
export async function acquireLease(
  store: ObjectStore,
  options: LeaseOptions,
  signal: AbortSignal,
): Promise<HeldLease> {
  const election = new LeaseElection(store, options);
  while (!(await election.attempt(signal))) await delay(election.retryMs * (1 + 0.2 * Math.random()), signal);
  const lost = new AbortController();
  const released = new AbortController();
  const renewing = election.keep(AbortSignal.any([signal, released.signal])).then(() => lost.abort());
  return {
    lost: lost.signal,
    async release() {
      released.abort();
      await renewing;
      await election.release();
    },
  };
}

/** One candidate's view of a Lease (coordination.k8s.io/v1). */
class LeaseElection {
  readonly #store: ObjectStore;
  readonly #options: Required<Omit<LeaseOptions, "labels">> & Pick<LeaseOptions, "labels">;
  /** When this process first saw the present record: expiry is measured on our clock, never between two machines'. */
  #observed: LeaseObservation | undefined;
  /** When the attempt began that took or renewed the lease last: others count its time from the write, not from the response. */
  #renewedAt = performance.now();
  #failing = false;

  constructor(store: ObjectStore, options: LeaseOptions) {
    this.#store = store;
    this.#options = {
      durationMs: 15_000,
      renewDeadlineMs: 10_000,
      retryMs: 2_000,
      logger: silentLogger,
      ...options,
    };
  }

  get retryMs(): number {
    return this.#options.retryMs;
  }

  /** True when the lease is ours now. Failures of the store count as "not yet". */
  async attempt(signal: AbortSignal): Promise<boolean> {
    try {
      const taken = await this.#takeOrRenew(signal);
      this.#failing = false;
      return taken;
    } catch (error) {
      signal.throwIfAborted();
      const { logger, name } = this.#options;
      // Once: an unreachable server would else be logged every two seconds, or never.
      if (!this.#failing)
        logger.warn({ err: error, lease: name }, "cannot take or renew the lease; trying again");
      this.#failing = true;
      return false;
    }
  }

  /** Renews until the signal aborts or the renewal deadline passes; a failed attempt brings it nearer, a slow one as well. */
  async keep(signal: AbortSignal): Promise<void> {
    const left = () => this.#options.renewDeadlineMs - (performance.now() - this.#renewedAt);
    while (!signal.aborted && left() > 0) {
      await delay(this.#options.retryMs, signal).catch(() => {});
      // A request that hangs must not keep us believing that we hold the lease.
      await within(left(), signal, (limited) => this.attempt(limited)).catch(() => {});
    }
  }

  /** Empties the holder, if that is us. */
  async release(): Promise<void> {
    const { name, namespace, identity, logger } = this.#options;
    try {
      const lease = await this.#store.get(Leases, { name, namespace });
      if (lease.spec?.holderIdentity !== identity) return;
      const spec = { ...lease.spec, holderIdentity: "", leaseDurationSeconds: 1 };
      await this.#store.update(Leases, { ...lease, spec });
    } catch (error) {
      logger.debug({ err: error, lease: name }, "cannot release the lease; it will run out");
    }
  }

  async #takeOrRenew(signal: AbortSignal): Promise<boolean> {
    const { name, namespace } = this.#options;
    const startedAt = performance.now();
    const found = await getIfAny(this.#store, Leases, { name, namespace }, signal);
    const record = found?.metadata.resourceVersion;
    if (found !== undefined && record !== this.#observed?.record) {
      this.#observed = { record, at: performance.now() };
    }
    const step = decideLease(found?.spec, {
      identity: this.#options.identity,
      durationMs: this.#options.durationMs,
      unchangedMs: performance.now() - (this.#observed?.at ?? 0),
      now: microTime(Date.now()),
    });
    if (step.kind === "wait") return false;
    const stored =
      found === undefined
        ? await this.#store.create(Leases, this.#newLease(name, namespace, step.spec), { signal })
        : await this.#store.update(Leases, { ...found, spec: step.spec }, { signal });
    this.#observed = { record: stored.metadata.resourceVersion, at: performance.now() };
    this.#renewedAt = startedAt;
    return true;
  }

  #newLease(name: string, namespace: string, spec: NonNullable<Lease["spec"]>): Lease {
    const { labels } = this.#options;
    return {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name, namespace, ...defined({ labels }) },
      spec,
    };
  }
}

/** RFC 3339 with microseconds, as Lease times are written. */
function microTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace("Z", "000Z");
}
