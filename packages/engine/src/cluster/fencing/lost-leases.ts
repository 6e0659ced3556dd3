import { listAll, type ObjectStore } from "@mooring/store";
import { canShutOut, isShared, Pools } from "../../api/pool.ts";
import { Volumes } from "../../api/volume.ts";
import type { Clock } from "../../host/host.ts";
import type { LeaseTimes } from "../../leases/image-leases.ts";

/** All volumes are read for it, and a second more does not matter after a silence of many. */
const READ_MS = 5_000;

interface Known {
  /** Milliseconds since boot: when all volumes were last read for the node. */
  readAt: number;
  /** Images without the node's lease, and since when, by our own clock; Infinity: time does not count, a cluster ends it. */
  since: ReadonlyMap<string, number>;
}

/**
 * Images that a silent node has by their records, and no lease of: an operator has deleted it, or another node has taken
 * it. An agent cannot renew what is not there, so its device is fenced as if the lease had not been renewed since we saw
 * that.
 */
export class LostLeases {
  readonly #store: ObjectStore;
  readonly #clock: Clock;
  readonly #times: LeaseTimes;
  readonly #known = new Map<string, Known>();

  constructor(store: ObjectStore, clock: Clock, times: LeaseTimes) {
    this.#store = store;
    this.#clock = clock;
    this.#times = times;
  }

  /** The node responds, or it has leases: whatever was counted is void. */
  forget(nodeID: string): void {
    this.#known.delete(nodeID);
  }

  /** For a node that has no lease now; how long each that it lost counts still. */
  async of(nodeID: string, signal: AbortSignal): Promise<{ image: string; leftMs: number }[]> {
    const known = await this.#imagesLost(nodeID, signal);
    const { durationMs, safetyMs } = this.#times;
    const now = this.#clock.sinceBoot();
    return [...known.since].map(([image, since]) => ({
      image,
      leftMs: Math.max(0, durationMs + safetyMs - (now - since)),
    }));
  }

  async #imagesLost(nodeID: string, signal: AbortSignal): Promise<Known> {
    const before = this.#known.get(nodeID);
    const now = this.#clock.sinceBoot();
    if (before !== undefined && now - before.readAt < READ_MS) return before;
    const images = await this.#imagesOf(nodeID, signal);
    const since = new Map(
      images.map(({ image, byCluster }) => [
        image,
        byCluster ? Number.POSITIVE_INFINITY : (before?.since.get(image) ?? now),
      ]),
    );
    const known = { readAt: now, since };
    this.#known.set(nodeID, known);
    return known;
  }

  async #imagesOf(nodeID: string, signal: AbortSignal): Promise<{ image: string; byCluster: boolean }[]> {
    const pools = (await listAll(this.#store, Pools, { signal })).items.filter(isShared);
    if (pools.length === 0) return [];
    const shared = new Map(pools.map((pool) => [pool.metadata.name, pool]));
    const { items } = await listAll(this.#store, Volumes, { signal });
    return items.flatMap(({ metadata, spec, status }) => {
      const pool = shared.get(spec.pool);
      if (pool === undefined || status?.ownerID !== nodeID) return [];
      return [{ image: metadata.name, byCluster: canShutOut(pool) }];
    });
  }
}
