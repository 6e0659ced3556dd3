import { badRequest } from "@mooring/store";
import { LARGE_OBJECT, type Limits, MOST_DEPTH } from "./limits.ts";

/** Throws BadRequest for what is nested too deeply or has too many parts. Iterative: it may be nested a million times. */
export function checkMeasure(root: unknown, most: Limits): void {
  let level: object[] = isParent(root) ? [root] : [];
  let [values, keys] = [0, 0];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MOST_DEPTH) throw badRequest("the object provided is nested too deeply");
    const next: object[] = [];
    for (const parent of level) {
      const children = Array.isArray(parent) ? parent : Object.values(parent);
      values += children.length;
      if (values > most.values)
        throw badRequest(`the object provided has more than ${most.values} values: send less at once`);
      if (!Array.isArray(parent) && children.length > LARGE_OBJECT) keys += children.length;
      if (keys > most.keys)
        throw badRequest(`the object provided has more than ${most.keys} keys: send less at once`);
      for (const child of children) if (isParent(child)) next.push(child);
    }
    level = next;
  }
}

const isParent = (value: unknown): value is object => typeof value === "object" && value !== null;
