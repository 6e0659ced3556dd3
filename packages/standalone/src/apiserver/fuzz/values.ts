import type { Random } from "@mooring/store/testing";

const WORDS = [
  ...[
    "",
    "a",
    "1Gi",
    "1e999",
    "-5",
    "2026-01-01T00:00:00Z",
    "\u0000",
    "../..",
    "ReadWriteOnce",
    "é",
    "\ud800",
  ],
  ...["__proto__", "constructor", "toString", "hasOwnProperty", "*", "a.b/c", "Always", "seed", "null", "{}"],
];
const NUMBERS = [0, -0, -1, 1, 2 ** 31, 2 ** 53, 1e300, -1e300, 0.5, 1e21, 5e-324];
const NAMES = ["__proto__", "constructor", "", "a.b", "é", "$patch", "$setElementOrder/a", "<<", "metadata"];

/** Anything that JSON can say; `fields` are names that some kind has. */
export function anyValue(random: Random, fields: readonly string[], depth: number): unknown {
  switch (random.below(depth > 0 ? 14 : 8)) {
    case 0:
      return null;
    case 1:
      return random.chance(0.5);
    case 2:
    case 3:
      return random.one(NUMBERS);
    case 4:
      return "x".repeat(random.below(random.chance(0.05) ? 100_000 : 300));
    case 5:
      return {};
    case 6:
      return [];
    case 7:
      return random.one(WORDS);
    case 8:
    case 9:
    case 10:
      return Array.from({ length: random.below(5) }, () => anyValue(random, fields, depth - 1));
    default:
      return anyMap(random, fields, depth);
  }
}

function anyMap(random: Random, fields: readonly string[], depth: number): Record<string, unknown> {
  const entries = Array.from({ length: random.below(6) }, () => [
    random.chance(0.85) ? random.one(fields) : random.one(NAMES),
    anyValue(random, fields, depth - 1),
  ]);
  return Object.fromEntries(entries) as Record<string, unknown>;
}

const isParent = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

/** Where in an object something may be changed, as JSON pointers. */
export function pointersOf(value: unknown, at = ""): string[] {
  if (!isParent(value)) return [at];
  const children = Object.entries(value).flatMap(([key, child]) => pointersOf(child, `${at}/${key}`));
  return at === "" ? children : [at, ...children];
}

/** A copy that is wrong in a few places. */
export function mutated(random: Random, good: object, fields: readonly string[]): unknown {
  const copy = structuredClone(good) as Record<string, unknown>;
  for (let count = 1 + random.below(3); count > 0; count--) {
    const pointers = pointersOf(copy);
    if (pointers.length === 0) return copy;
    const keys = random.one(pointers).split("/").slice(1);
    const last = keys.pop() ?? "";
    let parent: Record<string, unknown> = copy;
    for (const key of keys) {
      const next = parent[key];
      if (!isParent(next)) break;
      parent = next;
    }
    change(random, parent, last, fields);
  }
  return copy;
}

function change(
  random: Random,
  parent: Record<string, unknown>,
  key: string,
  fields: readonly string[],
): void {
  switch (random.below(5)) {
    case 0:
      delete parent[key];
      return;
    case 1:
      Object.defineProperty(parent, random.chance(0.8) ? random.one(fields) : random.one(NAMES), {
        value: anyValue(random, fields, 3),
        ...{ enumerable: true, configurable: true, writable: true },
      });
      return;
    case 2:
      parent[key] = [parent[key], parent[key]];
      return;
    default:
      parent[key] = anyValue(random, fields, 3);
  }
}
