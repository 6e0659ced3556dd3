/**
 * Bytes that clients have the server keep, over all users: bodies until they are worked on, responses until they are read.
 */
const MOST_BYTES = 64 * 1024 * 1024;
/** A client whose bytes were kept for so long is the first to lose them. */
const SLOW_MS = 5_000;

/** What one request has the server keep. */
export interface Kept {
  add(bytes: number): void;
  release(): void;
}

interface Keeper {
  user: string;
  bytes: number;
  since: number;
  drop(): void;
}

interface BuffersOptions {
  mostBytes?: number;
  slowMs?: number;
}

/**
 * Counts what is kept for clients that have not sent everything, wait for their turn or do not read. No client waits for
 * room: when it is too much, a request is dropped with its connection. That is the oldest of those that are slow, else the
 * oldest of the user who has most.
 */
export class Buffers {
  readonly #mostBytes: number;
  readonly #slowMs: number;
  /** In the order in which they began. */
  readonly #keepers = new Set<Keeper>();
  #bytes = 0;

  constructor({ mostBytes = MOST_BYTES, slowMs = SLOW_MS }: BuffersOptions = {}) {
    this.#mostBytes = mostBytes;
    this.#slowMs = slowMs;
  }

  /** `drop` ends the request and its connection, after which nothing of it is kept. */
  keep(user: string, drop: () => void): Kept {
    const keeper: Keeper = { user, bytes: 0, since: performance.now(), drop };
    this.#keepers.add(keeper);
    return {
      add: (bytes) => {
        if (!this.#keepers.has(keeper)) return;
        keeper.bytes += bytes;
        this.#bytes += bytes;
        while (this.#bytes > this.#mostBytes) this.#dropOne();
      },
      release: () => this.#release(keeper),
    };
  }

  #release(keeper: Keeper): void {
    if (this.#keepers.delete(keeper)) this.#bytes -= keeper.bytes;
  }

  #dropOne(): void {
    const dropped = this.#slowest() ?? this.#oldestOfGreediest();
    if (dropped === undefined) throw new Error("bytes are counted that no client has");
    this.#release(dropped);
    dropped.drop();
  }

  #slowest(): Keeper | undefined {
    const slowSince = performance.now() - this.#slowMs;
    for (const keeper of this.#keepers) {
      if (keeper.since > slowSince) return undefined;
      if (keeper.bytes > 0) return keeper;
    }
    return undefined;
  }

  #oldestOfGreediest(): Keeper | undefined {
    const sums = new Map<string, number>();
    for (const { user, bytes } of this.#keepers) sums.set(user, (sums.get(user) ?? 0) + bytes);
    const most = Math.max(...sums.values());
    return [...this.#keepers].find(({ user, bytes }) => bytes > 0 && sums.get(user) === most);
  }
}
