import type { ObjectStore, Resource } from "@mooring/store";
import type { Needs } from "../rights/needs.ts";

const VERBS = ["get", "list", "watch", "create", "update", "patch", "delete"];
/** Secrets are named by classes, and reviews are everybody's. */
const NOT_LISTED = new Set(["secrets", "selfsubjectaccessreviews"]);

/** The same store; notes in `used` what has been asked for, as a role names it: `patch persistentvolumes/status`. */
export function noteRights<T extends ObjectStore>(store: T, used: Set<string>): T {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (!VERBS.includes(String(name))) return value.bind(target);
      return (...args: unknown[]) => {
        const { plural } = args[0] as Resource;
        const { subresource } = (args[3] ?? {}) as { subresource?: string };
        const right = `${String(name)} ${plural}${subresource === undefined ? "" : `/${subresource}`}`;
        if (!NOT_LISTED.has(plural)) used.add(right);
        return value.apply(target, args) as unknown;
      };
    },
  });
}

/** All of it, in the same words. */
export function rightsIn(needs: Needs): Set<string> {
  const rights = [...needs.values()].flat();
  return new Set(
    rights.flatMap(({ resource: { plural }, subresource, verbs }) =>
      verbs.map((verb) => `${verb} ${plural}${subresource === undefined ? "" : `/${subresource}`}`),
    ),
  );
}
