import type { KubeObject } from "./object/meta.ts";
import type { ObjectKey, Resource } from "./object/resource.ts";

export type { ObjectKey } from "./object/resource.ts";

/** Options of every request that writes. */
export interface WriteOptions {
  /** Do everything but the write; the result is the object as it would have been. */
  dryRun?: boolean;
  /** Name recorded in `metadata.managedFields`; at most 128 characters. */
  fieldManager?: string;
  /**
   * No caller waits for it: a store on this machine has it on disk, and shows it, with the next other write, or some 25
   * milliseconds later without one, and so keeps no other write from the disk meanwhile.
   */
  patient?: boolean;
  signal?: AbortSignal;
}

/** Which objects are listed, and how many at a time. */
export interface ListOptions {
  /** Absent: all namespaces. */
  namespace?: string;
  /** Selector in the API's string form: `app=db,tier in (a,b),!old`. */
  labelSelector?: string;
  /** `metadata.name=x`, `metadata.namespace=y`, plus what the kind supports (`spec.nodeName` of pods, ...). */
  fieldSelector?: string;
  /** Page size; the result's `continue` leads to the next page of the same revision. */
  limit?: number;
  continue?: string;
  resourceVersion?: string;
  resourceVersionMatch?: "Exact" | "NotOlderThan";
  signal?: AbortSignal;
}

/** One page of a list. */
export interface ListResult<T> {
  items: T[];
  /** The revision that the list is a picture of; a watch may start from it. */
  resourceVersion: string;
  continue?: string;
  remainingItemCount?: number;
}

/** What is watched, and from which revision on. */
export interface WatchOptions {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  /** Start after this revision. Absent or "0": first the present objects as ADDED events. */
  resourceVersion?: string;
  allowBookmarks?: boolean;
  /** WatchList (KEP-3157): the present objects as ADDED, then a bookmark with the `k8s.io/initial-events-end` annotation. */
  sendInitialEvents?: boolean;
  /** Ends the stream. */
  signal: AbortSignal;
}

/** `BOOKMARK` objects carry nothing but a resourceVersion. Expired revisions throw a StatusError (Expired). */
export interface WatchEvent<T> {
  type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK";
  object: T;
}

/** A change of an object by one of the four patch types of the Kubernetes API. */
export type Patch =
  | { type: "json"; body: unknown[] }
  | { type: "merge"; body: unknown }
  | { type: "strategic"; body: unknown }
  | { type: "apply"; body: unknown; force?: boolean };

/** How an object is deleted. */
export interface DeleteOptions {
  /** The delete fails with Conflict unless the object still has them. */
  preconditions?: { uid?: string; resourceVersion?: string };
  propagationPolicy?: "Foreground" | "Background" | "Orphan";
  gracePeriodSeconds?: number;
  dryRun?: boolean;
  signal?: AbortSignal;
}

/**
 * Kubernetes objects in a store. Semantics are those of an API server: a write with `metadata.resourceVersion`
 * fails with Conflict when the object has moved on; `update` never changes status and `updateStatus` nothing else
 * where the kind has a status subresource; deleting an object with finalizers only marks it. Every failure is a
 * `StatusError`. Objects handed out are the caller's own: changing them changes nothing in the store.
 */
export interface ObjectStore {
  get<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, signal?: AbortSignal): Promise<T>;
  list<T extends KubeObject>(resource: Resource<T>, options?: ListOptions): Promise<ListResult<T>>;
  watch<T extends KubeObject>(resource: Resource<T>, options: WatchOptions): AsyncIterable<WatchEvent<T>>;
  create<T extends KubeObject>(resource: Resource<T>, object: T, options?: WriteOptions): Promise<T>;
  update<T extends KubeObject>(resource: Resource<T>, object: T, options?: WriteOptions): Promise<T>;
  updateStatus<T extends KubeObject>(resource: Resource<T>, object: T, options?: WriteOptions): Promise<T>;
  /** `subresource` is "status" or "scale". Server-side apply (`type: "apply"`) needs a fieldManager and may create. */
  patch<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey,
    patch: Patch,
    options?: WriteOptions & { subresource?: string },
  ): Promise<T>;
  /** Resolves with the object as it was left: gone, or waiting for its finalizers. */
  delete<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, options?: DeleteOptions): Promise<T>;
}
