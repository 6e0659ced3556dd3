import type { DiskFault } from "../local/disk-faults.ts";
import type { JsonList, JsonListEnd } from "../local/list.ts";
import type { ResourceDefinition, ResourceRegistry } from "../local/registry.ts";
import { Selection } from "../local/selection.ts";
import type { JsonWatchEvent } from "../local/watch.ts";
import { Writer } from "../local/writer.ts";
import { WritingStore } from "../local/writing-store.ts";
import { defineResource, type ObjectKey, type Resource } from "../object/resource.ts";
import type { ListOptions, WatchOptions } from "../object-store.ts";
import { ifNeverBegun } from "../runtime/abandon.ts";
import { orAborted } from "../runtime/wait.ts";
import { Link } from "./link.ts";
import type { Items, StoreLink } from "./protocol.ts";
import { RemoteLog } from "./remote-log.ts";

/** The kinds of a store in another thread, as this one knows them. */
export interface ThreadStoreOptions {
  registry: ResourceRegistry;
  /** Learns of the changes of the kinds there have been, and returns how many that were in all. */
  epoch?(): number;
}

/**
 * The store of another thread. Everything that depends on what a client has sent is done here: decoding, defaults,
 * validation, merging. The other thread reads, compares and writes.
 */
export class ThreadStore extends WritingStore {
  readonly registry: ResourceRegistry;
  readonly #link: Link;
  protected readonly writer: Writer;
  readonly #epoch: () => number;
  #streams = 0;

  constructor(link: StoreLink, { registry, epoch = () => 0 }: ThreadStoreOptions) {
    super();
    this.registry = registry;
    this.#link = new Link(link);
    this.#epoch = epoch;
    this.writer = new Writer({
      log: new RemoteLog(this.#link, {
        epoch,
        hasAdmission: ({ resource }) => registry.get(resource).strategy?.admit !== undefined,
      }),
      definition: (resource) => this.#definition(resource),
      clock: Date.now,
      requireNamespaces: link.requireNamespaces,
    });
  }

  /** Releases the other thread. */
  close(): void {
    this.#link.close();
  }

  diskFault(fault: DiskFault): string | undefined {
    return this.#link.atOnce({ do: "disk-fault", fault }) as string | undefined;
  }

  damage(): string | undefined {
    return this.#link.atOnce({ do: "damage" }) as string | undefined;
  }

  getJson(resource: Resource, key: ObjectKey): string {
    this.#definition(resource);
    return this.#link.atOnce({ do: "get", resource: defineResource(resource), key }) as string;
  }

  listJson(resource: Resource, { signal, ...options }: ListOptions = {}): JsonList {
    this.#check(resource, options);
    const stream = this.#streams++;
    const request = { do: "list", stream, resource: defineResource(resource), options } as const;
    const resourceVersion = this.#link.atOnce(request) as string;
    return { resourceVersion, pages: this.#read<string[]>(stream, signal) };
  }

  watchJson(resource: Resource, { signal, ...options }: WatchOptions): AsyncGenerator<JsonWatchEvent, void> {
    this.#check(resource, options);
    return this.#watch(defineResource(resource), options, signal);
  }

  async *#watch(
    resource: Resource,
    options: Omit<WatchOptions, "signal">,
    signal: AbortSignal,
  ): AsyncGenerator<JsonWatchEvent, void> {
    if (signal.aborted) return;
    const stream = this.#streams++;
    await this.#link.call({ do: "watch", stream, resource, options });
    try {
      yield* this.#read<JsonWatchEvent>(stream, signal);
    } catch (error) {
      // As in any other store: a watch that is ended just ends.
      if (!signal.aborted) throw error;
    }
  }

  /** The items of a stream as they come; a reader that stops, or never begins, ends it there as well. */
  #read<T extends Items["items"][number]>(
    stream: number,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<T, JsonListEnd> {
    return ifNeverBegun(this.#items<T>(stream, signal), () => this.#end(stream));
  }

  async *#items<T extends Items["items"][number]>(
    stream: number,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<T, JsonListEnd> {
    try {
      for (;;) {
        const next = this.#link.call({ do: "next", stream });
        // The caller does not wait for it any more once the signal has aborted.
        next.catch(() => {});
        const { items, end } = (await orAborted(next, signal)) as Items;
        for (const item of items) {
          signal?.throwIfAborted();
          yield item as T;
        }
        if (end !== undefined) return end;
      }
    } finally {
      this.#end(stream);
    }
  }

  #end(stream: number): void {
    this.#link.note({ do: "end", stream });
  }

  /** Selectors are refused before anything is begun. */
  #check(resource: Resource, options: Omit<ListOptions, "signal">): void {
    new Selection(this.#definition(resource), resource, options);
  }

  #definition(resource: Resource): ResourceDefinition {
    this.#epoch();
    return this.registry.get(resource);
  }
}
