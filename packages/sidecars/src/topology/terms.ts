import type { StorageClass } from "@mooring/store";

/** One place: topology key to value, as in CSI's Topology.segments and in node labels. */
export type Segments = Readonly<Record<string, string>>;

type SelectorTerms = NonNullable<StorageClass["allowedTopologies"]>;

const entriesOf = (term: Segments): [string, string][] =>
  Object.entries(term).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));

/** Equal terms have equal keys; keys of terms of one length sort as terms do. */
export function termKey(term: Segments): string {
  return JSON.stringify(entriesOf(term));
}

/**
 * Sorted, without repetitions: the same set always gives the same request. Those with fewer segments come first, as they do
 * for external-provisioner: replicas that it has begun to spread go on in the same order.
 */
export function canonicalTerms(terms: readonly Segments[]): Segments[] {
  const byKey = new Map(terms.map((term) => [termKey(term), entriesOf(term)]));
  return [...byKey]
    .sort(([a, first], [b, second]) => first.length - second.length || (a < b ? -1 : 1))
    .map(([, entries]) => Object.fromEntries(entries));
}

/** True when every pair of `smaller` is in `larger`. */
export function includesTerm(larger: Segments, smaller: Segments): boolean {
  return Object.entries(smaller).every(([key, value]) => larger[key] === value);
}

/** True when both have the same pairs, in whatever order. */
export function isSameTerm(a: Segments, b: Segments): boolean {
  return Object.keys(a).length === Object.keys(b).length && includesTerm(a, b);
}

/** Class terms list several values per key; CSI wants every combination as a term of its own. */
export function flattenAllowed(allowed: SelectorTerms): Segments[] {
  return canonicalTerms(allowed.flatMap(flattenTerm));
}

function flattenTerm(term: SelectorTerms[number]): Segments[] {
  return (term.matchLabelExpressions ?? []).reduce<Segments[]>(
    (terms, { key, values }) =>
      terms.flatMap((head) => values.map((value): Segments => ({ ...head, [key]: value }))),
    [{}],
  );
}

/** The order of `terms` with the one at `first` moved to the front and the rest following in a circle. */
export function rotate(terms: readonly Segments[], first: number): Segments[] {
  return [...terms.slice(first), ...terms.slice(0, first)];
}

/**
 * Where claims without a node begin: claims of one StatefulSet replica meet in one place, and replicas spread. For
 * `data-web-2` that is the hash of `web` plus 2.
 */
export function spreadingOffset(claimName: string): number {
  const replica = /^(.*)-(\d+)$/.exec(claimName);
  const [, head, index] = replica ?? [];
  if (head === undefined || index === undefined || Number(index) > 0xffff_ffff) return fnv32(claimName);
  const setName = head.slice(head.lastIndexOf("-") + 1);
  return (fnv32(setName) + Number(index)) % 2 ** 32;
}

/** FNV-1, 32 bits. */
function fnv32(text: string): number {
  return new TextEncoder()
    .encode(text)
    .reduce((hash, byte) => (Math.imul(hash, 0x01000193) ^ byte) >>> 0, 0x811c9dc5);
}

/** A volume's reach as the scheduler reads it: terms are alternatives, all keys of a term must match. */
export function nodeAffinity(accessible: readonly Segments[]) {
  const nodeSelectorTerms = accessible
    .filter((term) => Object.keys(term).length > 0)
    .map((term) => ({
      matchExpressions: entriesOf(term).map(([key, value]) => ({ key, operator: "In", values: [value] })),
    }));
  return nodeSelectorTerms.length === 0 ? undefined : { required: { nodeSelectorTerms } };
}
