import type { KubeObject, ObjectStore, Resource } from "@mooring/store";
import { isNotFound } from "@mooring/store";
import { isKindMissing } from "../output/api-refusal.ts";
import { type Check, check } from "./check.ts";

/**
 * The same store, in which a kind that the cluster does not have has no objects: one missing definition keeps no check from
 * reading the other kinds. `missing`: the kinds that lists have met so far.
 */
export function withoutMissingKinds(store: ObjectStore): {
  store: ObjectStore;
  missing: ReadonlySet<Resource>;
} {
  const missing = new Set<Resource>();
  const list = async <T extends KubeObject>(...args: Parameters<typeof store.list<T>>) => {
    try {
      return await store.list(...args);
    } catch (error) {
      if (!isNotFound(error) || !isKindMissing(error)) throw error;
      missing.add(args[0] as Resource);
      return { items: [] as T[], resourceVersion: "0" };
    }
  };
  const lenient = new Proxy(store, {
    get(target, name) {
      if (name === "list") return list;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  return { store: lenient, missing };
}

/** One for each kind that is missing. */
export function missingKindChecks(missing: ReadonlySet<Resource>): Check[] {
  return [...missing].map(({ group, kind, plural }) =>
    check(
      `Kind ${kind}`,
      "warn",
      `the cluster does not have ${plural}.${group}, so none was read`,
      `install it, or ignore this when nothing uses it: kubectl apply -f deploy/crds/${group}_${plural}.yaml`,
    ),
  );
}
