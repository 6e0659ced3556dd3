import type { StorageClass } from "@mooring/store";

/** On a StorageClass: claims that name no class get this one. */
export const IS_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class";
/** The same, under an older name. */
const BETA_IS_DEFAULT_CLASS = "storageclass.beta.kubernetes.io/is-default-class";

/** The newest of the classes that are marked as the default; by name when they are of the same second. */
export function defaultClassOf<T extends Pick<StorageClass, "metadata">>(
  classes: readonly T[],
): T | undefined {
  const marked = classes.filter(({ metadata }) =>
    [IS_DEFAULT_CLASS, BETA_IS_DEFAULT_CLASS].some((name) => metadata.annotations?.[name] === "true"),
  );
  const age = (each: T) => each.metadata.creationTimestamp ?? "";
  return marked.sort((a, b) =>
    age(a) === age(b) ? compare(a.metadata.name, b.metadata.name) : compare(age(b), age(a)),
  )[0];
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
