import type { ObjectStore } from "../object-store.ts";

/**
 * A store some of whose calls fail: `refuse` gets the method and its arguments, and returns the error, or nothing where the call
 * goes through. Watches are not asked about; how those break is the business of `rest/`.
 */
export function refusingStore<S extends ObjectStore>(
  store: S,
  refuse: (method: string, args: readonly unknown[]) => Error | undefined,
): S {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (name === "watch") return value.bind(target);
      return (...args: unknown[]) => {
        const error = refuse(String(name), args);
        return error === undefined ? value.apply(target, args) : Promise.reject(error);
      };
    },
  });
}
