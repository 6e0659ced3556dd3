import { MessageChannel, type MessagePort, type Transferable } from "node:worker_threads";
import type { LocalStore } from "../local/local-store.ts";
import { StatusError } from "../object/status-error.ts";
import { allowManyListeners } from "../runtime/wait.ts";
import { outcomeAtOnce, outcomeOf } from "./errors.ts";
import { Outlet } from "./outlet.ts";
import {
  type AtOnce,
  type Call,
  ENDED,
  type Notice,
  type Numbered,
  RESPONSES,
  type StoreLink,
} from "./protocol.ts";

/** What is read of a list, and of a watch, before it is asked for. */
const [PAGES_AHEAD, EVENTS_AHEAD] = [2, 128];

/** How a store is served to another thread. */
export interface ServeStoreOptions {
  /** Counts the changes of the store's registry that the other thread has received; it sends how many it knows. */
  epoch?(): number;
  /** Ends it, with all of its watches. */
  signal: AbortSignal;
}

/** A store as it is served to another thread. */
export interface ServedStore {
  link: StoreLink;
  /** Goes with the link. */
  transfer: Transferable[];
  /** Lists and watches that the other thread has begun and not ended. */
  streams(): number;
}

/**
 * Serves a store to one other thread. Whatever that thread is asked to check, merge or decide, it does itself; here its
 * decisions are compared with what is there, and written. Send the link with `transfer`.
 */
export function serveStore(store: LocalStore, options: ServeStoreOptions): ServedStore {
  const [calls, atOnce] = [new MessageChannel(), new MessageChannel()];
  const responses = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);
  const serving = new Serving(store, options);
  const numbers = new Int32Array(responses);
  const countResponse = () => {
    Atomics.add(numbers, RESPONSES, 1);
    Atomics.notify(numbers, RESPONSES);
  };
  atOnce.port1.on("message", (request: AtOnce) => {
    atOnce.port1.postMessage(outcomeAtOnce(() => serving.handleAtOnce(request)));
    countResponse();
  });
  calls.port1.on("message", (request: Numbered<Call> | Notice) => {
    if (request.do === "end" || request.do === "forget") serving.note(request);
    else void serving.handle(request).then((response) => calls.port1.postMessage(response));
  });
  untilAborted(options.signal, [calls.port1, atOnce.port1], () => {
    serving.stop();
    Atomics.store(numbers, ENDED, 1);
    countResponse();
  });
  const link = {
    calls: calls.port2,
    atOnce: atOnce.port2,
    responses,
    requireNamespaces: store.requireNamespaces,
  };
  return { link, transfer: [link.calls, link.atOnce], streams: () => serving.streams };
}

function untilAborted(signal: AbortSignal, ports: MessagePort[], end: () => void): void {
  // The other thread keeps this one alive, or it does not: a link is no reason.
  for (const port of ports) port.unref();
  const stop = () => {
    for (const port of ports) port.close();
    end();
  };
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
}

interface Stream {
  outlet: Outlet;
  over: AbortController;
}

class Serving {
  readonly #store: LocalStore;
  readonly #epoch: () => number;
  readonly #streams = new Map<number, Stream>();
  /** What each write that is being decided counts on. */
  readonly #founded = new Map<number, Map<string, string | undefined>>();

  constructor(store: LocalStore, { epoch = () => 0 }: ServeStoreOptions) {
    this.#store = store;
    this.#epoch = epoch;
  }

  get streams(): number {
    return this.#streams.size;
  }

  handleAtOnce(request: AtOnce): unknown {
    switch (request.do) {
      case "get":
        return this.#store.getJson(request.resource, request.key);
      case "latest":
        return this.#latest(request.attempt, request.path);
      case "list": {
        const over = new AbortController();
        const list = this.#store.listJson(request.resource, { ...request.options, signal: over.signal });
        this.#streams.set(request.stream, { outlet: new Outlet(list.pages, PAGES_AHEAD), over });
        return list.resourceVersion;
      }
      case "disk-fault":
        return this.#store.diskFault(request.fault);
      case "damage":
        return this.#store.damage();
    }
  }

  handle({ id, ...call }: Numbered<Call>): Promise<Numbered<object>> {
    return outcomeOf(() => this.#handle(call)).then((outcome) => ({ id, ...outcome }));
  }

  note(notice: Notice): void {
    if (notice.do === "forget") this.#founded.delete(notice.attempt);
    else this.#end(notice.stream);
  }

  stop(): void {
    for (const stream of [...this.#streams.keys()]) this.#end(stream);
    this.#founded.clear();
  }

  async #handle(call: Call): Promise<unknown> {
    switch (call.do) {
      case "watch": {
        const over = new AbortController();
        allowManyListeners(over.signal);
        const events = this.#store.watchJson(call.resource, { ...call.options, signal: over.signal });
        this.#streams.set(call.stream, { outlet: new Outlet(events, EVENTS_AHEAD), over });
        return undefined;
      }
      case "next":
        return this.#next(call.stream);
      case "write": {
        const founded = this.#founded.get(call.attempt) ?? new Map();
        this.#founded.delete(call.attempt);
        // Decided by rules of a kind that are not those of now.
        if (call.epoch !== this.#epoch()) return undefined;
        return this.#store.writeDecided(call.decided, founded);
      }
      case "settled":
        return this.#store.settled();
    }
  }

  #latest(attempt: number, path: string): string | undefined {
    const json = this.#store.latestJson(path);
    const founded = this.#founded.get(attempt) ?? new Map<string, string | undefined>();
    if (!founded.has(path)) founded.set(path, json);
    this.#founded.set(attempt, founded);
    return json;
  }

  async #next(stream: number): Promise<unknown> {
    const outlet = this.#streams.get(stream)?.outlet;
    if (outlet === undefined) throw new StatusError("ServiceUnavailable", "the store is closed");
    try {
      const items = await outlet.next();
      if (items.end !== undefined) this.#streams.delete(stream);
      return items;
    } catch (error) {
      this.#streams.delete(stream);
      throw error;
    }
  }

  #end(stream: number): void {
    const { outlet, over } = this.#streams.get(stream) ?? {};
    this.#streams.delete(stream);
    over?.abort();
    void outlet?.stop();
  }
}
