import type { Informer, KubeObject, Resource } from "@mooring/store";

/** Index name to the values under which an object is found. */
export type Indexers<T> = Record<string, (object: T) => string[]>;

/** A controller's picture of one kind. */
export interface ObjectCache<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly informer: Informer<T>;
  get(key: string): T | undefined;
  /** Objects of an index, each as {@link get} sees it. */
  byIndex(index: string, value: string): T[];
  list(): T[];
  /** Asks the server and believes it. */
  refresh(key: string, signal?: AbortSignal): Promise<T | undefined>;
  /** Records the result of a write. */
  wrote(object: T): T;
  /** Notes that an object is gone. */
  gone(object: T): void;
  /** Notes what a delete left: an object without finalizers is gone, others wait. */
  deleted(left: T): void;
}
