import {
  createInformer,
  groupResource,
  type KubeObject,
  type Logger,
  type ObjectStore,
  type Resource,
} from "@mooring/store";
import { type KindInfo, type KindRegistry, verbsOf } from "../../kinds/kind-info.ts";
import type { OwnerGraph } from "./graph.ts";
import { identityOf, identityStore } from "./identity.ts";

interface Monitor {
  resource: Resource;
  stop: AbortController;
  synced: Promise<void>;
  done: Promise<void>;
}

interface MonitorOptions {
  store: ObjectStore;
  kinds: KindRegistry;
  graph: OwnerGraph;
  logger: Logger;
  signal: AbortSignal;
}

/** Follows every kind that can be listed, watched and deleted into the graph, also those that come later. */
export class Monitors {
  readonly #options: MonitorOptions;
  readonly #running = new Map<string, Monitor>();

  constructor(options: MonitorOptions) {
    this.#options = options;
    this.#update();
    const unfollow = options.kinds.onChange(() => this.#update());
    options.signal.addEventListener("abort", unfollow, { once: true });
  }

  /** Resolves when everything that exists is in the graph. */
  async synced(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ synced }) => synced));
  }

  /** Resolves when nothing is followed any more, after the abort. */
  async done(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ done }) => done));
  }

  #update(): void {
    if (this.#options.signal.aborted) return;
    const wanted = new Map(
      this.#options.kinds
        .all()
        .filter(isFollowed)
        .map((kind) => [nameOf(kind), kind]),
    );
    for (const [name, monitor] of this.#running) {
      if (wanted.has(name)) continue;
      this.#running.delete(name);
      monitor.stop.abort();
      void monitor.done.then(() => this.#forget(monitor.resource));
    }
    for (const [name, kind] of wanted) {
      if (!this.#running.has(name)) this.#running.set(name, this.#start(kind.resource));
    }
  }

  /** Nobody delivers the end of objects whose kind went with them: their owners would wait for them for ever. */
  #forget(resource: Resource): void {
    const isServed = [...this.#running.values()].some((each) => isSameKind(each.resource, resource));
    if (!isServed) this.#options.graph.forget((other) => isSameKind(other, resource));
  }

  #start(resource: Resource): Monitor {
    const { store, graph, logger, signal } = this.#options;
    const stop = new AbortController();
    const either = AbortSignal.any([signal, stop.signal]);
    const informer = createInformer<KubeObject>(identityStore(store) as ObjectStore, resource, { logger });
    informer.onChange((old, current) => {
      if (old !== undefined && old.metadata.uid !== current?.metadata.uid)
        graph.remove(old.metadata.uid ?? "");
      if (current !== undefined) graph.put(resource, identityOf(current));
    });
    const done = informer.run(either);
    return { resource, stop, done, synced: informer.synced(either).catch(() => {}) };
  }
}

/** Events are many, short-lived and own nothing. */
function isFollowed(kind: KindInfo): boolean {
  const verbs = verbsOf(kind);
  return (
    kind.resource.kind !== "Event" &&
    (["list", "watch", "delete"] as const).every((verb) => verbs.includes(verb))
  );
}

/** In whatever version. */
const isSameKind = (a: Resource, b: Resource) => a.group === b.group && a.plural === b.plural;

const nameOf = ({ resource }: KindInfo) => `${groupResource(resource)}/${resource.version}`;
