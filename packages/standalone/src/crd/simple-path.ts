import { isObject } from "../schema/model.ts";

/** Reads `.spec.names['a.b']`; undefined when anything on the way is missing. */
export function readPath(object: unknown, path: string): unknown {
  let at: unknown = object;
  for (const match of path.matchAll(/\.([A-Za-z0-9_-]+)|\['([^']+)'\]/g)) {
    const field = match[1] ?? match[2] ?? "";
    if (!isObject(at)) return undefined;
    at = at[field];
  }
  return at;
}
