import { badRequest } from "@mooring/store";
import { MOST_DEPTH } from "./limits.ts";

/** Throws BadRequest for what is nested too deeply or has too many parts. Iterative: it may be nested a million times. */
export function checkMeasure(root: unknown, most: number): void {
  let level: object[] = isParent(root) ? [root] : [];
  let values = 0;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MOST_DEPTH) throw badRequest("the object provided is nested too deeply");
    const next: object[] = [];
    for (const parent of level) {
      const children = Array.isArray(parent) ? parent : Object.values(parent);
      values += children.length;
      if (values > most)
        throw badRequest(`the object provided has more than ${most} values: send less at once`);
      for (const child of children) if (isParent(child)) next.push(child);
    }
    level = next;
  }
}

const isParent = (value: unknown): value is object => typeof value === "object" && value !== null;
