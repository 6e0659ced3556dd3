import type { DiskFault } from "./local/disk-faults.ts";
import type { JsonList } from "./local/list.ts";
import type { ResourceRegistry } from "./local/registry.ts";
import type { JsonWatchEvent } from "./local/watch.ts";
import type { AdmittedOptions } from "./local/writer.ts";
import type { KubeObject } from "./object/meta.ts";
import type { ObjectKey, Resource } from "./object/resource.ts";
import type { ListOptions, ObjectStore, Patch, WatchOptions } from "./object-store.ts";

/** A store as an API server needs it: what is read comes as JSON, unparsed, and a writer may check the object once more. */
export interface JsonStore extends ObjectStore {
  /** The kinds that it serves. */
  readonly registry: ResourceRegistry;
  /** Like `get`, at once, as JSON. Throws NotFound. */
  getJson(resource: Resource, key: ObjectKey): string;
  /** Like `list`, piece by piece and unparsed; never holds the event loop for long. */
  listJson(resource: Resource, options?: ListOptions): JsonList;
  /** Like `watch`, unparsed. */
  watchJson(resource: Resource, options: WatchOptions): AsyncGenerator<JsonWatchEvent, void>;
  create<T extends KubeObject>(resource: Resource<T>, object: T, options?: AdmittedOptions): Promise<T>;
  update<T extends KubeObject>(resource: Resource<T>, object: T, options?: AdmittedOptions): Promise<T>;
  updateStatus<T extends KubeObject>(resource: Resource<T>, object: T, options?: AdmittedOptions): Promise<T>;
  patch<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey,
    patch: Patch,
    options?: AdmittedOptions & { subresource?: string },
  ): Promise<T>;
  /** What is wrong with the disk of the store, and what to do; undefined while it is well. */
  diskFault(fault: DiskFault): string | undefined;
  /** What a read has found to be damaged on disk, and the way out; undefined while the store is whole as far as it was read. */
  damage(): string | undefined;
}
