import type { KubeObject, Resource, UnstructuredObject } from "@mooring/store";
import type { Schema } from "../schema/model.ts";
import type { KindRules } from "../schema/strategy.ts";
import { age } from "./age.ts";
import type { Cell, Column, ScalePaths } from "./kind-info.ts";

/** One built-in kind: all that is known of it, as data. */
export interface BuiltinKind {
  resource: Resource;
  schema: Schema;
  singular: string;
  shortNames?: readonly string[];
  categories?: readonly string[];
  hasStatus?: boolean;
  /** `kubectl scale` finds its number here. */
  scale?: ScalePaths;
  /** Objects come with their status (nodes). */
  keepStatusOnCreate?: boolean;
  /** Without Name, which every kind has. */
  columns: readonly Column[];
  /** Replaces the Name column (`mooring (default)`). */
  nameColumn?: Column;
  rules?: KindRules;
}

type Reader = (object: UnstructuredObject, now: Date) => Cell;

/** A column of the table that kubectl prints. */
export function column(name: string, read: Reader, options: Partial<Column> = {}): Column {
  return {
    name,
    type: "string",
    ...options,
    value: (object: KubeObject, now: Date) => read(object as UnstructuredObject, now),
  };
}
/** Shown with `-o wide` only. */
export const wide = (name: string, read: Reader): Column => column(name, read, { priority: 1 });

/** Columns that print `<none>` or `<unset>` for what is not there. */
export const text = (value: unknown, fallback = "<none>"): string =>
  value === undefined || value === null || value === "" ? fallback : String(value);

/** The age, as most kinds have it last. */
export const ageColumn: Column = column("Age", (object, now) => age(object.metadata.creationTimestamp, now));

/** Like `a.b.c` on an object whose shape is not known; undefined where anything is missing. */
export function dig(value: unknown, ...path: (string | number)[]): unknown {
  let at = value;
  for (const step of path) {
    if (typeof at !== "object" || at === null) return undefined;
    at = (at as Record<string | number, unknown>)[step];
  }
  return at;
}
/** The object at the end of a path; empty when there is none. */
export function digObject(value: unknown, ...path: (string | number)[]): Record<string, unknown> {
  const found = dig(value, ...path);
  return typeof found === "object" && found !== null && !Array.isArray(found)
    ? (found as Record<string, unknown>)
    : {};
}
/** The objects of the list at the end of a path; empty when there is none. */
export function digList(value: unknown, ...path: (string | number)[]): Record<string, unknown>[] {
  const found = dig(value, ...path);
  return Array.isArray(found) ? (found as Record<string, unknown>[]) : [];
}
/** The string at the end of a path; empty when there is none. */
export function digText(value: unknown, ...path: (string | number)[]): string {
  const found = dig(value, ...path);
  return found === undefined || found === null ? "" : String(found);
}
/** The strings of the list at the end of a path; empty when there is none. */
export function digStrings(value: unknown, ...path: (string | number)[]): string[] {
  const found = dig(value, ...path);
  return Array.isArray(found) ? found.map(String) : [];
}

const MODES: Readonly<Record<string, string>> = {
  ReadWriteOnce: "RWO",
  ReadOnlyMany: "ROX",
  ReadWriteMany: "RWX",
  ReadWriteOncePod: "RWOP",
};
/** Access modes as kubectl prints them: `RWO,ROX`. */
export function accessModes(modes: readonly string[]): string {
  const unique = [...new Set(modes)];
  return Object.keys(MODES)
    .filter((mode) => unique.includes(mode))
    .map((mode) => MODES[mode])
    .join(",");
}
