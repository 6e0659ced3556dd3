import type { ObjectMeta } from "@mooring/store";

/** Every field given, also the optional ones, so that a field that is added to a type must be added here too. */
export type Full<T> = T extends (infer E)[]
  ? Full<E>[]
  : T extends object
    ? { [K in keyof T]-?: K extends "metadata" ? Pick<ObjectMeta, "name"> : Full<NonNullable<T[K]>> }
    : T;

export const time = "2026-01-01T00:00:00Z";
export const metadata = { name: "x" };
export const conditions = [
  {
    type: "Ready",
    status: "True" as const,
    reason: "R",
    message: "m",
    lastTransitionTime: time,
    observedGeneration: 1,
  },
];
export const error = { code: "INTERNAL", message: "m" };
