import type { KubeObject } from "../object/meta.ts";
import { keyOf, parseKey, type Resource } from "../object/resource.ts";
import { isNotFound } from "../object/status-error.ts";
import { isNewerVersion } from "../object/version.ts";
import type { ObjectStore } from "../object-store.ts";
import type { Informer } from "./informer.ts";
import { RecentMap } from "./recent-map.ts";

/** Deleted objects that are remembered: far more than writes that are under way at a time. */
const MAX_GONE = 1_000;

/** What we wrote ourselves and the watch has not yet delivered. */
type Written<T> = { object: T } | { goneUid: string | undefined };

/**
 * The informer's cache, plus the results of our own writes until the watch has caught up. Without them a loop that reads again after its own step would see the world before the step.
 */
export class WrittenCache<T extends KubeObject> {
  readonly informer: Informer<T>;
  readonly #store: Pick<ObjectStore, "get">;
  readonly #written = new Map<string, Written<T>>();
  /** UIDs whose deletion the watch has delivered. The response to our last write of such an object may come after it. */
  readonly #gone = new RecentMap<string, true>(MAX_GONE);

  constructor(store: Pick<ObjectStore, "get">, informer: Informer<T>) {
    this.#store = store;
    this.informer = informer;
    informer.onChange((old, next) => this.#caughtUp(old, next));
  }

  get resource(): Resource<T> {
    return this.informer.resource;
  }

  get(key: string): T | undefined {
    const known = this.informer.get(key);
    const written = this.#written.get(key);
    if (written === undefined) return known;
    if ("object" in written)
      return known !== undefined && !isNewer(written.object, known) ? known : written.object;
    return known?.metadata.uid === written.goneUid ? undefined : known;
  }

  /** Objects of an index, each as {@link get} sees it. */
  byIndex(index: string, value: string): T[] {
    if (this.#written.size === 0) return this.informer.byIndex(index, value);
    const matches = (object: T) => this.informer.indexers[index]?.(object).includes(value) ?? false;
    return this.#current(this.informer.byIndex(index, value), matches).filter(matches);
  }

  list(): T[] {
    if (this.#written.size === 0) return this.informer.list();
    return this.#current(this.informer.list(), () => true);
  }

  /** Asks the server and believes it. */
  async refresh(key: string, signal?: AbortSignal): Promise<T | undefined> {
    try {
      return this.wrote(await this.#store.get(this.informer.resource, parseKey(key), signal));
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const known = this.informer.get(key);
      if (known === undefined) this.#written.delete(key);
      else this.#written.set(key, { goneUid: known.metadata.uid });
      return undefined;
    }
  }

  /** Records the result of a write. */
  wrote(object: T): T {
    const key = keyOf(object);
    const { uid } = object.metadata;
    const known = this.informer.get(key);
    // No event would ever take it out again.
    if (uid !== undefined && this.#gone.get(uid) !== undefined) return object;
    if (known === undefined || isNewer(object, known)) this.#written.set(key, { object });
    return object;
  }

  /** Notes that an object is gone. */
  gone(object: T): void {
    const key = keyOf(object);
    if (this.informer.get(key) === undefined) this.#written.delete(key);
    else this.#written.set(key, { goneUid: object.metadata.uid });
  }

  /** Notes what a delete left: an object without finalizers is gone, others wait. */
  deleted(left: T): void {
    if ((left.metadata.finalizers ?? []).length === 0) this.gone(left);
    else this.wrote(left);
  }

  /** The objects as they are now, and those that only we know to match. */
  #current(objects: readonly T[], matches: (object: T) => boolean): T[] {
    const keys = new Set(objects.map(keyOf));
    for (const [key, written] of this.#written)
      if ("object" in written && matches(written.object)) keys.add(key);
    return [...keys].flatMap((key) => this.get(key) ?? []);
  }

  #caughtUp(old: T | undefined, next: T | undefined): void {
    const object = next ?? old;
    if (object === undefined) return;
    if (old?.metadata.uid !== undefined && next?.metadata.uid !== old.metadata.uid)
      this.#gone.set(old.metadata.uid, true);
    const key = keyOf(object);
    const written = this.#written.get(key);
    if (written === undefined) return;
    const outdated =
      "object" in written
        ? next !== undefined
          ? !isNewer(written.object, next)
          : written.object.metadata.uid === object.metadata.uid
        : next?.metadata.uid !== written.goneUid;
    if (outdated) this.#written.delete(key);
  }
}

/** Where versions are no numbers, what we wrote wins until it is seen. */
function isNewer(a: KubeObject, b: KubeObject): boolean {
  const [x = "", y = ""] = [a.metadata.resourceVersion, b.metadata.resourceVersion];
  return x !== y && (isNewerVersion(x, y) ?? true);
}
