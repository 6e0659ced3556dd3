import type { JsonStore } from "../json-store.ts";
import type { KubeObject } from "../object/meta.ts";
import type { ObjectKey, Resource } from "../object/resource.ts";
import type {
  DeleteOptions,
  ListOptions,
  ListResult,
  Patch,
  WatchEvent,
  WatchOptions,
} from "../object-store.ts";
import type { DiskFault } from "./disk-faults.ts";
import type { JsonList } from "./list.ts";
import type { ResourceRegistry } from "./registry.ts";
import type { JsonWatchEvent } from "./watch.ts";
import type { AdmittedOptions, Writer } from "./writer.ts";

/** What stores have in common that read JSON, wherever it is, and decide writes by a {@link Writer}. */
export abstract class WritingStore implements JsonStore {
  abstract readonly registry: ResourceRegistry;
  protected abstract readonly writer: Writer;

  abstract getJson(resource: Resource, key: ObjectKey): string;
  abstract listJson(resource: Resource, options?: ListOptions): JsonList;
  abstract watchJson(resource: Resource, options: WatchOptions): AsyncGenerator<JsonWatchEvent, void>;
  abstract diskFault(fault: DiskFault): string | undefined;
  abstract damage(): string | undefined;

  async get<T extends KubeObject>(resource: Resource<T>, key: ObjectKey): Promise<T> {
    return JSON.parse(this.getJson(resource, key)) as T;
  }

  async list<T extends KubeObject>(resource: Resource<T>, options: ListOptions = {}): Promise<ListResult<T>> {
    const { resourceVersion, pages } = this.listJson(resource, options);
    const items: T[] = [];
    for (;;) {
      const page = await pages.next();
      if (page.done) return { items, resourceVersion, ...page.value };
      for (const json of page.value) items.push(JSON.parse(json) as T);
    }
  }

  async *watch<T extends KubeObject>(
    resource: Resource<T>,
    options: WatchOptions,
  ): AsyncGenerator<WatchEvent<T>, void> {
    for await (const { type, json } of this.watchJson(resource, options))
      yield { type, object: JSON.parse(json) as T };
  }

  create<T extends KubeObject>(resource: Resource<T>, object: T, options: AdmittedOptions = {}): Promise<T> {
    return this.writer.create(resource, object, options);
  }

  update<T extends KubeObject>(resource: Resource<T>, object: T, options: AdmittedOptions = {}): Promise<T> {
    return this.writer.replace(resource, object, options);
  }

  updateStatus<T extends KubeObject>(
    resource: Resource<T>,
    object: T,
    options: AdmittedOptions = {},
  ): Promise<T> {
    return this.writer.replace(resource, object, { ...options, subresource: "status" });
  }

  patch<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey,
    patch: Patch,
    options: AdmittedOptions & { subresource?: string } = {},
  ): Promise<T> {
    return this.writer.patch(resource, key, patch, options);
  }

  delete<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey,
    options: DeleteOptions = {},
  ): Promise<T> {
    return this.writer.delete(resource, key, options);
  }
}
