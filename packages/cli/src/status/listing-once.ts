import type { KubeObject, ObjectStore, Resource } from "@mooring/store";

/** The same store, which lists all objects of a kind the first time only: whoever asks later gets the same objects. */
export function listingOnce(store: ObjectStore): ObjectStore {
  const lists = new Map<unknown, unknown>();
  const list = <T extends KubeObject>(resource: Resource<T>, ...options: unknown[]) => {
    // With options it is another list.
    if (options.length > 0) return Reflect.apply(store.list<T>, store, [resource, ...options]);
    const known = lists.get(resource) ?? store.list(resource);
    lists.set(resource, known);
    return known;
  };
  return new Proxy(store, {
    get(target, name) {
      if (name === "list") return list;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}
