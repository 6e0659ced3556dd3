import assert from "node:assert/strict";
import { test } from "node:test";
import { csiNode, DRIVER, node } from "../testing/objects.ts";
import { accessibilityFor, type TopologyInput } from "./requirement.ts";
import { canonicalTerms, includesTerm, nodeAffinity, type Segments, termKey } from "./terms.ts";

/** What external-provisioner tests of topology (topology_test.go): places as `zone=1 rack=A`, and what a volume may ask for. */
const segments = (place: string): Segments =>
  Object.fromEntries(
    place.split(" ").flatMap((pair) => (pair === "" ? [] : [pair.split("=") as [string, string]])),
  );
const text = (terms: readonly Segments[]) =>
  terms
    .map((term) =>
      Object.entries(term)
        .map(([key, value]) => `${key}=${value}`)
        .join(" "),
    )
    .join(", ");
const words = (list: string) => list.split(" ").filter((word) => word !== "");

interface Cluster {
  /** Labels of `n1`, `n2` and so on. */
  nodes: readonly string[];
  /** Topology keys of the driver on each; absent: no CSINode at all. */
  keys: readonly string[];
  /** Each term as `zone=1|2 rack=A`. */
  allowed?: readonly string[];
}
interface Asked {
  claimName?: string;
  selected?: boolean;
  strict?: boolean;
  immediate?: boolean;
}

function inputFor({ nodes, keys, allowed = [] }: Cluster, asked: Asked): TopologyInput {
  const terms = allowed.map((term) => ({
    matchLabelExpressions: Object.entries(segments(term)).map(([key, values]) => ({
      ...{ key, values: values.split("|") },
    })),
  }));
  return {
    ...{ driver: DRIVER, claimName: asked.claimName ?? "testpvc", allowed: terms },
    ...(asked.selected && { selectedNode: "n1" }),
    nodes: nodes.map((labels, index) => node(`n${index + 1}`, segments(labels))),
    csiNodes: keys.map((each, index) => csiNode(`n${index + 1}`, words(each))),
    ...{ strict: asked.strict ?? false, immediate: asked.immediate ?? true },
  };
}

/** Requisite and preferred terms, or `error`, `lost`, `none`. */
function ask(cluster: Cluster, asked: Asked): { requisite: string; preferred: string } {
  const result = accessibilityFor(inputFor(cluster, asked));
  const both = (word: string) => ({ requisite: word, preferred: word });
  if (!("accessibilityRequirements" in result)) return both("error" in result ? "error" : "lost");
  const { accessibilityRequirements: found } = result;
  return found === undefined
    ? both("none")
    : { requisite: text(found.requisite), preferred: text(found.preferred) };
}

const RACKS = ["zone=1 rack=A", "zone=2 rack=B", "zone=3 rack=C", "zone=4 rack=D"];
const FOUR = RACKS.map((place) => words(place).reverse().join(" "));
const fromPlace = (first: number) => [...FOUR.slice(first), ...FOUR.slice(0, first)].join(", ");

const SPREAD: readonly (readonly [
  title: string,
  claimName: string,
  preferred: string,
  allowed?: readonly string[],
])[] = [
  ["the first replica, of one claim", "testpvcA-testset-1", fromPlace(0)],
  ["the first replica, of another claim", "testpvcB-testset-1", fromPlace(0)],
  ["the first replica, within what is allowed", "testpvcC-testset-1", "rack=A zone=1", ["zone=1 rack=A"]],
  ["the second replica", "testset-2", fromPlace(1)],
  [
    "the second replica, within what is allowed",
    "testpvcB-testset-2",
    "rack=B zone=2, rack=A zone=1",
    ["zone=2 rack=B", "zone=1 rack=A"],
  ],
  ["the third replica", "testpvc-testset-3", fromPlace(2)],
  ["the fourth replica", "testpvc-testset-4", fromPlace(3)],
];
for (const [title, claimName, preferred, allowed] of SPREAD)
  test(`a stateful set is spread: ${title}`, () => {
    const cluster = { nodes: RACKS, keys: RACKS.map(() => "zone rack"), ...(allowed && { allowed }) };
    for (const strict of [true, false]) {
      assert.equal(ask(cluster, { claimName, strict }).preferred, preferred);
      const late = ask(cluster, { claimName, strict, immediate: false }).preferred;
      assert.equal(late, allowed === undefined ? "none" : preferred);
    }
  });

const ALLOWED: readonly (readonly [title: string, allowed: readonly string[], requisite: string])[] = [
  ["one key, one value", ["zone=1"], "zone=1"],
  ["one key, several values", ["zone=1|2"], "zone=1, zone=2"],
  ["several keys, one value", ["zone=1 rack=A"], "rack=A zone=1"],
  ["several keys, one of them with several values", ["zone=1 rack=A|B"], "rack=A zone=1, rack=B zone=1"],
  [
    "several keys, several values",
    ["zone=1|2 rack=A|B"],
    "rack=A zone=1, rack=A zone=2, rack=B zone=1, rack=B zone=2",
  ],
  ["several terms", ["zone=1", "zone=2"], "zone=1, zone=2"],
  ["several terms of several keys", ["zone=1 rack=A", "zone=1 rack=B"], "rack=A zone=1, rack=B zone=1"],
  ["several terms that share a value", ["zone=1|2", "zone=2|3"], "zone=1, zone=2, zone=3"],
  ["a term within another", ["zone=1|2", "zone=1 rack=A|B"], "zone=1, zone=2, rack=A zone=1, rack=B zone=1"],
  [
    "the same term twice",
    ["zone=1|2 rack=A", "zone=1 rack=A|B"],
    "rack=A zone=1, rack=A zone=2, rack=B zone=1",
  ],
];
for (const [title, allowed, requisite] of ALLOWED)
  test(`what a class allows: ${title}`, () => {
    for (const strict of [true, false])
      for (const immediate of [true, false])
        assert.equal(ask({ nodes: [], keys: [], allowed }, { strict, immediate }).requisite, requisite);
  });

const [SAME, ZONES] = [
  ["zone=1", "zone=1", "zone=1"],
  ["zone=1", "zone=2", "zone=2"],
];
const KEYS = ["zone", "zone", "zone"];
const MIXED = {
  nodes: ["zone=1", "zone=1 rack=A", "zone=1 rack=A"],
  keys: ["zone", "zone rack", "zone rack"],
};

/** `strict`: where it differs. */
const AGGREGATE: readonly (readonly [
  title: string,
  of: Cluster,
  asked: Asked,
  requisite: string,
  strict?: string,
])[] = [
  ["all nodes are in one place", { nodes: SAME, keys: KEYS }, {}, "zone=1"],
  ["all nodes are in the selected one's place", { nodes: SAME, keys: KEYS }, { selected: true }, "zone=1"],
  ["nodes are in several places", { nodes: ZONES, keys: KEYS }, {}, "zone=1, zone=2"],
  [
    "others are elsewhere than the selected one",
    { nodes: ZONES, keys: KEYS },
    { selected: true },
    "zone=1, zone=2",
    "zone=1",
  ],
  ["others have more keys than the selected one", MIXED, { selected: true }, "zone=1"],
  ["there are no nodes", { nodes: [], keys: KEYS }, {}, "error"],
  ["no node has the label", { nodes: ["foo=bar"], keys: KEYS }, {}, "error"],
  ["no node has the driver", { nodes: ZONES, keys: [] }, {}, "error"],
  ["no driver has keys", { nodes: ZONES, keys: ["", "", ""] }, {}, "error"],
  ["one driver is newer", { nodes: ["a=1", "a=2", "zone=3"], keys: ["", "", "zone"] }, {}, "zone=3"],
  // Theirs takes every node with the label: also those where nobody has said that the driver runs.
  [
    "nodes have the label and no driver",
    { nodes: ["zone=1", "zone=2", "zone=3"], keys: ["", "", "zone"] },
    {},
    "zone=3",
  ],
  ["the selected node lacks the label", { nodes: ["foo=bar"], keys: KEYS }, { selected: true }, "error"],
  ["the selected node has no driver", { nodes: ZONES, keys: [] }, { selected: true }, "lost"],
  [
    "the driver has no keys on the selected node",
    { nodes: ZONES, keys: ["", "", ""] },
    { selected: true },
    "error",
  ],
];
for (const [title, cluster, asked, requisite, strict = requisite] of AGGREGATE)
  test(`all places of the driver: ${title}`, () => {
    assert.equal(ask(cluster, asked).requisite, requisite);
    assert.equal(ask(cluster, { ...asked, strict: true }).requisite, strict);
    const late = ask(cluster, { ...asked, immediate: false }).requisite;
    assert.equal(late, asked.selected ? requisite : "none");
  });

const THREE = ["zone=2 rack=A", "zone=1 rack=A", "zone=1 rack=B"];
const BOTH = ["zone rack", "zone rack", "zone rack"];
const DISKS = ["zone=1 rack=1 disk=ssd", "zone=2 rack=2 disk=ssd", "zone=2 rack=1 disk=nvme"];
const ANY = ["zone=1|2 rack=A|B"];
const PREFERRED: readonly (readonly [title: string, of: Cluster, preferred: string, strict?: string])[] = [
  [
    "its place is allowed",
    { nodes: THREE, keys: BOTH, allowed: ANY },
    "rack=A zone=2, rack=B zone=1, rack=B zone=2, rack=A zone=1",
    "rack=A zone=2",
  ],
  ["it has no CSINode", { nodes: THREE, keys: [], allowed: ANY }, "lost"],
  ["its key is another", { nodes: THREE, keys: BOTH.map(() => "foo rack"), allowed: ANY }, "error"],
  [
    "anything is allowed",
    { nodes: THREE, keys: BOTH },
    "rack=A zone=2, rack=B zone=1, rack=A zone=1",
    "rack=A zone=2",
  ],
  ["it has no place", { nodes: ["", "", ""], keys: ["", "", ""] }, "error"],
  [
    "its place is not allowed",
    { nodes: ["zone=2", "zone=1", "zone=1"], keys: KEYS, allowed: ["zone=1"] },
    "error",
  ],
  [
    "what is allowed says less than its place",
    { nodes: DISKS, keys: DISKS.map(() => "zone rack disk"), allowed: ["disk=ssd zone=1"] },
    "disk=ssd zone=1",
    "zone=1 rack=1 disk=ssd",
  ],
  [
    "what is allowed begins as its place does",
    { nodes: ["zone=10 rack=1", "zone=11 rack=2", "zone=12 rack=1"], keys: BOTH, allowed: ["zone=1"] },
    "error",
  ],
];
for (const [title, cluster, preferred, strict = preferred] of PREFERRED)
  test(`a node is selected: ${title}`, () => {
    const sorted = (terms: string) =>
      terms
        .split(", ")
        .map((term) => words(term).sort().join(" "))
        .join(", ");
    for (const immediate of [true, false]) {
      assert.equal(ask(cluster, { selected: true, immediate }).preferred, preferred);
      const found = ask(cluster, { selected: true, immediate, strict: true }).preferred;
      assert.equal(sorted(found), sorted(strict));
    }
  });

const SORTED: readonly (readonly [title: string, given: readonly string[], sorted: string])[] = [
  ["nothing", [], ""],
  ["keys", ["b=1", "a=1"], "a=1, b=1"],
  ["keys within a term", ["y=2 x=1", "x=1"], "x=1, x=1 y=2"],
  ["values", ["x=2", "x=1"], "x=1, x=2"],
  ["repetitions", ["x=1 y=1", "y=1 x=1", "x=1 y=1"], "x=1 y=1"],
];
for (const [title, given, sorted] of SORTED)
  test(`terms are sorted: ${title}`, () =>
    assert.equal(text(canonicalTerms([...given].reverse().map(segments))), sorted));

const ORDER: readonly (readonly [title: string, smaller: string, larger: string])[] = [
  ["the shorter first", "x=1", "x=1 y=1"],
  ["the smaller key first", "a=1", "b=1"],
  ["the smaller value first", "x=1", "x=2"],
];
for (const [title, smaller, larger] of ORDER)
  test(`terms are compared: ${title}`, () => {
    assert.equal(text(canonicalTerms([segments(larger), segments(smaller)])), `${smaller}, ${larger}`);
    assert.notEqual(termKey(segments(smaller)), termKey(segments(larger)));
  });

const WITHIN: readonly (readonly [title: string, larger: string, smaller: string, within: boolean])[] = [
  ["nothing in nothing", "", "", true],
  ["nothing in something", "x=1", "", true],
  ["something in nothing", "", "x=1", false],
  ["the same", "x=1 y=2", "y=2 x=1", true],
  ["one of two", "x=1 y=2", "x=1", true],
  ["two of one", "x=1", "x=1 y=2", false],
  ["the second of two", "x=1 y=2", "y=2", true],
  ["the second is missing", "y=2", "x=1 y=2", false],
  ["another value", "x=1", "x=2", false],
];
for (const [title, larger, smaller, within] of WITHIN)
  test(`a term within a term: ${title}`, () =>
    assert.equal(includesTerm(segments(larger), segments(smaller)), within));

const AFFINITY: readonly (readonly [title: string, places: readonly string[], terms: string])[] = [
  ["no places", [], ""],
  ["a place without segments", [""], ""],
  ["one segment", ["zone=1"], "zone In 1"],
  ["two segments", ["zone=1 rack=A"], "rack In A & zone In 1"],
  ["two places", ["zone=1", "zone=2"], "zone In 1, zone In 2"],
];
for (const [title, places, terms] of AFFINITY)
  test(`a volume's node affinity: ${title}`, () => {
    const found = nodeAffinity(places.map(segments))?.required.nodeSelectorTerms ?? [];
    const said = found.map(({ matchExpressions }) =>
      matchExpressions.map(({ key, operator, values }) => `${key} ${operator} ${values.join()}`).join(" & "),
    );
    assert.equal(said.join(", "), terms);
  });
