import type {
  AdmittedWrite,
  DeleteOptions,
  JsonList,
  JsonStore,
  JsonWatchEvent,
  ListOptions,
  ObjectKey,
  Patch,
  Resource,
  UnstructuredObject,
  WatchOptions,
  WriteOptions,
} from "@mooring/store";

/** The objects of one kind in one version, as the handlers see them. Objects to read are JSON, unparsed. */
export interface Collection {
  getJson(key: ObjectKey): string;
  listJson(options: ListOptions): JsonList;
  watchJson(options: WatchOptions): AsyncGenerator<JsonWatchEvent, void>;
  create(object: UnstructuredObject, options: WriteOptions & AdmittedWrite): Promise<UnstructuredObject>;
  update(
    object: UnstructuredObject,
    options: WriteOptions & AdmittedWrite & { subresource?: string },
  ): Promise<UnstructuredObject>;
  patch(
    key: ObjectKey,
    patch: Patch,
    options: WriteOptions & AdmittedWrite & { subresource?: string },
  ): Promise<UnstructuredObject>;
  delete(key: ObjectKey, options: DeleteOptions): Promise<UnstructuredObject>;
}

/** The kinds that are stored as they are served. */
export function storedCollection(store: JsonStore, resource: Resource<UnstructuredObject>): Collection {
  return {
    getJson: (key) => store.getJson(resource, key),
    listJson: (options) => store.listJson(resource, options),
    watchJson: (options) => store.watchJson(resource, options),
    create: (object, options) => store.create(resource, object, options),
    update: (object, { subresource, ...options }) =>
      subresource === "status"
        ? store.updateStatus(resource, object, options)
        : store.update(resource, object, options),
    patch: (key, patch, options) => store.patch(resource, key, patch, options),
    delete: (key, options) => store.delete(resource, key, options),
  };
}
