import type { StorageClass } from "@mooring/store";
import { BETA_IS_DEFAULT_CLASS, IS_DEFAULT_CLASS } from "./names.ts";

/** The newest of the classes that are marked as the default; by name when they are of the same second. */
export function defaultClassOf(classes: readonly StorageClass[]): StorageClass | undefined {
  const marked = classes.filter(({ metadata }) =>
    [IS_DEFAULT_CLASS, BETA_IS_DEFAULT_CLASS].some((name) => metadata.annotations?.[name] === "true"),
  );
  const age = (each: StorageClass) => each.metadata.creationTimestamp ?? "";
  return marked.sort((a, b) =>
    age(a) === age(b) ? compare(a.metadata.name, b.metadata.name) : compare(age(b), age(a)),
  )[0];
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
