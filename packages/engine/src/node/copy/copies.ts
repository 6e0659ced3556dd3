import { KeyedLock } from "@mooring/store";
import { EngineError } from "../../errors.ts";

/**
 * Who copies which image. One copy of a source at a time, since a file system can be frozen only once; and none while
 * its volume leaves the node: who detaches ends the copy first, and the copy is made again where the volume comes back.
 */
export class Copies {
  readonly #lock = new KeyedLock();
  readonly #running = new Map<string, AbortController>();

  /** `signal` aborts when the volume has to go; what is half-made is then taken away. */
  run<T>(key: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.#lock.run(key, async () => {
      const stop = new AbortController();
      this.#running.set(key, stop);
      try {
        return await work(stop.signal);
      } finally {
        this.#running.delete(key);
      }
    });
  }

  /** Runs when no copy is under way, which is waited for. */
  after<T>(key: string, work: () => Promise<T>): Promise<T> {
    return this.#lock.run(key, work);
  }

  /** All of them, taken in one order by everybody, so that groups with common members wait and never block each other. */
  async lock(keys: readonly string[]): Promise<LockedCopies> {
    const stop = new AbortController();
    const releases: (() => void)[] = [];
    for (const key of [...new Set(keys)].sort()) {
      const release = await this.#lock.acquire(key);
      this.#running.set(key, stop);
      releases.push(() => {
        this.#running.delete(key);
        release();
      });
    }
    return {
      signal: stop.signal,
      release: () => {
        for (const release of releases.splice(0)) release();
      },
    };
  }

  /** Runs when no copy is under way; one that is gets interrupted. */
  without<T>(key: string, work: () => Promise<T>): Promise<T> {
    const message =
      "interrupted: the volume has to leave this node; it is made again where the volume comes back";
    this.#running.get(key)?.abort(new EngineError("ABORTED", message));
    return this.#lock.run(key, work);
  }
}

/** Several images locked for one group copy. */
export interface LockedCopies {
  /** Aborts when one of the volumes has to go. */
  readonly signal: AbortSignal;
  release(): void;
}

/** Key of a volume's image. */
export function copyKey(pool: string, image: string): string {
  return `${pool}/${image}`;
}
