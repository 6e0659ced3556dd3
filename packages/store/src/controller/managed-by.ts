import type { ObjectStore, WriteOptions } from "../object-store.ts";

/**
 * The same store for one writer: every write that names no field manager is recorded under `manager` in
 * `metadata.managedFields`, so that operators and server-side apply see who set what.
 */
export function managedBy(store: ObjectStore, manager: string): ObjectStore {
  const named = <T extends WriteOptions>(options: T | undefined): T =>
    ({ fieldManager: manager, ...options }) as T;
  return {
    get: (resource, key, signal) => store.get(resource, key, signal),
    list: (resource, options) => store.list(resource, options),
    watch: (resource, options) => store.watch(resource, options),
    create: (resource, object, options) => store.create(resource, object, named(options)),
    update: (resource, object, options) => store.update(resource, object, named(options)),
    updateStatus: (resource, object, options) => store.updateStatus(resource, object, named(options)),
    patch: (resource, key, patch, options) => store.patch(resource, key, patch, named(options)),
    delete: (resource, key, options) => store.delete(resource, key, options),
  };
}
