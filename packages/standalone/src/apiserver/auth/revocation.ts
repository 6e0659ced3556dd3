import {
  delay,
  groupResource,
  type JsonStore,
  type Logger,
  type ObjectKey,
  type Resource,
  type UnstructuredObject,
} from "@mooring/store";

/** How often those are asked again whose time may be over; nothing that happens in the store waits for it. */
const CHECK_MS = 10_000;
const RETRY_MS = 1_000;

/** An object that a credential lives by. */
export interface Ground {
  resource: Resource;
  key: ObjectKey;
}

/** A request that lasts, and why its client was let in. */
export interface LetIn {
  grounds: readonly Ground[];
  /** Whether its client would be let in now. */
  still(): Promise<boolean>;
  /** Its client would not. */
  end(): void;
}

interface Followed {
  requests: Set<LetIn>;
  over: AbortController;
}

/**
 * Ends requests that last when what let their client in is no more: a Node that was deleted or has another key, a service
 * account, the object that a token was bound to. Requests that end by themselves were let in when they came.
 */
export class Revocation {
  readonly #store: JsonStore;
  readonly #logger: Logger;
  readonly #signal: AbortSignal;
  readonly #requests = new Set<LetIn>();
  /** By the kind that they depend on. */
  readonly #followed = new Map<string, Followed>();
  #timer: NodeJS.Timeout | undefined;

  /** `signal` ends it. */
  constructor({ store, logger, signal }: { store: JsonStore; logger: Logger; signal: AbortSignal }) {
    this.#store = store;
    this.#logger = logger;
    this.#signal = signal;
  }

  /** Begins to watch over a request; returns how to stop. Without grounds it is never ended. */
  guard(request: LetIn): () => void {
    if (request.grounds.length === 0) return () => {};
    this.#requests.add(request);
    for (const { resource } of request.grounds) this.#followedOf(resource).requests.add(request);
    this.#timer ??= setInterval(() => void this.#check(this.#requests), CHECK_MS).unref();
    // It may have been revoked since the client was let in.
    void this.#check([request]);
    return () => this.#release(request);
  }

  #release(request: LetIn): void {
    this.#requests.delete(request);
    for (const [kind, { requests, over }] of this.#followed) {
      requests.delete(request);
      if (requests.size > 0) continue;
      over.abort();
      this.#followed.delete(kind);
    }
    if (this.#requests.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #followedOf(resource: Resource): Followed {
    const kind = groupResource(resource);
    let followed = this.#followed.get(kind);
    if (followed === undefined) {
      followed = { requests: new Set(), over: new AbortController() };
      this.#followed.set(kind, followed);
      void this.#follow(resource, followed);
    }
    return followed;
  }

  /** Begins in the same turn: what is deleted from now on is seen. */
  async #follow(resource: Resource, { requests, over }: Followed): Promise<void> {
    const { signal } = over;
    const stop = () => over.abort();
    this.#signal.addEventListener("abort", stop, { once: true });
    while (!signal.aborted && !this.#signal.aborted) {
      try {
        const resourceVersion = this.#revision(resource);
        // What happened before that is seen by looking.
        void this.#check(requests);
        for await (const { json } of this.#store.watchJson(resource, { signal, resourceVersion }))
          await this.#check(requests, JSON.parse(json) as UnstructuredObject);
      } catch (error) {
        this.#logger.warn({ err: error, kind: resource.kind }, "whose credentials end is followed anew");
        await delay(RETRY_MS, signal).catch(() => {});
      }
    }
    this.#signal.removeEventListener("abort", stop);
  }

  #revision(resource: Resource): string {
    const { pages, resourceVersion } = this.#store.listJson(resource, { limit: 1 });
    void pages.return({});
    return resourceVersion;
  }

  /** All of them, or those that live by an object. */
  async #check(requests: Iterable<LetIn>, changed?: UnstructuredObject): Promise<void> {
    for (const request of [...requests]) {
      if (changed !== undefined && !request.grounds.some((ground) => isOf(ground, changed))) continue;
      if (!this.#requests.has(request)) continue;
      const isLetIn = await request.still().catch((error: unknown) => {
        this.#logger.warn({ err: error }, "whether a client is still let in is not known; it is asked again");
        return true;
      });
      if (!isLetIn && this.#requests.has(request)) request.end();
    }
  }
}

function isOf({ resource, key }: Ground, { kind, metadata }: UnstructuredObject): boolean {
  return (
    kind === resource.kind &&
    metadata.name === key.name &&
    (metadata.namespace ?? "") === (key.namespace ?? "")
  );
}
