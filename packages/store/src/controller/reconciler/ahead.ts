import { isDeepStrictEqual } from "node:util";
import type { KubeObject } from "../../object/meta.ts";
import { groupResource, keyOf, type Resource } from "../../object/resource.ts";
import { isNewerVersion } from "../../object/version.ts";
import type { Informer } from "../informer.ts";
import type { WatchedInformer } from "./contract.ts";
import type { IndexEntry, IndexRead, Notes, Projection, Seen } from "./reader.ts";

/**
 * Notes of a read that is to wake nothing: whether it has seen something in the store, or in a cache ahead of the watch,
 * whose event the informers have not received yet. That event asks for the key, however late it comes.
 */
export class AheadOfEvents implements Notes {
  readonly #informers: readonly WatchedInformer[];
  #found = false;

  constructor(informers: readonly WatchedInformer[]) {
    this.#informers = informers;
  }

  /** An event of something that was read is on its way. */
  get found(): boolean {
    return this.#found;
  }

  live(resource: Resource, key: string, seen: Seen, of?: Projection): void {
    if (seen === "asked" || seen === "unknown") return;
    this.#compare(resource, (informer) => hasSeen(informer.get(key), seen, of));
  }

  index(informer: Informer<KubeObject>, _entry: IndexEntry, { ahead }: IndexRead): void {
    for (const object of ahead ?? []) this.#compare(informer.resource, (each) => has(each, object));
  }

  liveListed(
    resource: Resource,
    objects: readonly KubeObject[],
    matches: (object: KubeObject) => boolean,
  ): void {
    const keys = new Set(objects.map(keyOf));
    const isGone = (object: KubeObject) => matches(object) && !keys.has(keyOf(object));
    this.#compare(
      resource,
      (informer) => objects.every((each) => has(informer, each)) && !informer.list().some(isGone),
    );
  }

  object(): void {}
  list(): void {}
  liveList(): void {}
  topic(): void {}

  #compare(resource: Resource, isUpToDate: (informer: Informer<KubeObject>) => boolean): void {
    const kind = groupResource(resource);
    // Sound: objects are only ever compared with those of informers of the same kind.
    const informers = this.#informers.filter(
      (each) => groupResource(each.resource) === kind,
    ) as unknown as Informer<KubeObject>[];
    if (informers.length > 0 && !informers.some(isUpToDate)) this.#found = true;
  }
}

function has(informer: Informer<KubeObject>, object: KubeObject): boolean {
  return hasSeen(informer.get(keyOf(object)), { version: object.metadata.resourceVersion ?? "" }, undefined);
}

function hasSeen(
  current: KubeObject | undefined,
  seen: Exclude<Seen, "asked" | "unknown">,
  of: Projection | undefined,
): boolean {
  if (current === undefined || seen === "absent") return current === undefined && seen === "absent";
  if ("value" in seen) return isDeepStrictEqual(seen.value, of?.(current));
  const { resourceVersion = "" } = current.metadata;
  return resourceVersion === seen.version || isNewerVersion(resourceVersion, seen.version) === true;
}
