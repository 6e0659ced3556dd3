import assert from "node:assert/strict";
import { test } from "node:test";
import type { CSIStorageCapacity } from "@mooring/store";
import { csiNode, DRIVER, node, storageClass } from "../testing/objects.ts";
import { type Segments, termKey } from "../topology/terms.ts";
import { type CapacityView, capacityFor, decideCapacity, isPublished, placesOf } from "./decide.ts";

/** What external-provisioner tests of capacities (TestCapacityController, nodes_test.go), as views and steps. */
const slot = { className: "late", segments: { zone: "a" } };
const keeper = { driver: DRIVER, namespace: "kube-system", here: undefined, owner: undefined };
const [GI, TWO] = [{ capacity: "1Gi" }, { capacity: "2Gi" }];
const object = (amount: { capacity: string; maximumVolumeSize?: string }): CSIStorageCapacity =>
  capacityFor(keeper, slot, amount);
const said = (
  amount: { capacity: string; maximumVolumeSize?: string } | undefined,
  at = 100,
  stale = false,
) => ({
  result: { at, amount, stale },
});
const POLL = 60_000;
const DONE = { do: "done" };

const ROWS: readonly (readonly [title: string, of: Partial<CapacityView>, step: object])[] = [
  ["nobody wants it", { wanted: false }, DONE],
  ["the driver has not been asked", {}, { do: "ask-driver" }],
  ["the driver has said it first", said(GI), { do: "publish", amount: GI }],
  ["it is as the driver says", { ...said(GI), published: object(GI) }, { do: "wait", afterMs: POLL }],
  ["the driver says something else", { ...said(TWO), published: object(GI) }, { do: "publish", amount: TWO }],
  [
    "the largest volume is new",
    { ...said({ ...GI, maximumVolumeSize: "1Mi" }), published: object(GI) },
    { do: "publish", amount: { ...GI, maximumVolumeSize: "1Mi" } },
  ],
  ["somebody has deleted it", { ...said(GI), published: undefined }, { do: "publish", amount: GI }],
  [
    "its class or its place has gone",
    { wanted: false, ...said(GI), published: object(GI) },
    { do: "delete-capacity", object: object(GI) },
  ],
  [
    "another program has one of the same",
    { ...said(GI), duplicates: [object(TWO)] },
    { do: "delete-duplicates", objects: [object(TWO)] },
  ],
  ["it is time to ask again", { ...said(GI, 100 - POLL), published: object(GI) }, { do: "ask-driver" }],
  ["a volume has come", { ...said(GI, 100 - 1000, true), published: object(GI) }, { do: "ask-driver" }],
  [
    "volumes come one after the other",
    { ...said(GI, 100, true), published: object(GI) },
    { do: "wait", afterMs: 1000 },
  ],
  [
    "the driver has no response",
    { ...said(undefined), published: object(GI) },
    { do: "wait", afterMs: POLL },
  ],
];
for (const [title, of, step] of ROWS)
  test(`a capacity is kept: ${title}`, () =>
    assert.deepEqual(
      decideCapacity({
        ...{ slot, wanted: true, parameters: {}, published: undefined, duplicates: [], result: undefined },
        ...{ pollMs: POLL, now: 100, ...of },
      }),
      step,
    ));

const LATE = { volumeBindingMode: "WaitForFirstConsumer" } as const;
const CLASSES: readonly (readonly [
  title: string,
  changes: object,
  immediate: boolean,
  published: boolean,
])[] = [
  ["one that binds late", LATE, false, true],
  ["one that binds at once", {}, false, false],
  ["one that binds at once, on request", {}, true, true],
  ["another driver's", { ...LATE, provisioner: "x" }, true, false],
];
for (const [title, changes, immediate, published] of CLASSES)
  test(`capacities of a class are ${published ? "published" : "not published"}: ${title}`, () =>
    assert.equal(isPublished(storageClass(changes), DRIVER, immediate), published));

const segments = (text: string): Segments =>
  Object.fromEntries(
    text.split(" ").flatMap((pair) => (pair === "" ? [] : [pair.split("=") as [string, string]])),
  );
/** Labels of `n1`, `n2`; keys of the driver on each, `-` for no such node. */
const PLACES: readonly (readonly [title: string, labels: string[], keys: string[], places: string[]])[] = [
  ["no node", [], [], []],
  ["one node", ["zone=a"], ["zone"], ["zone=a"]],
  ["a node without a CSINode", ["zone=a"], ["-"], []],
  ["a CSINode without a node", ["-"], ["zone"], []],
  ["a node without the label", [""], ["zone"], []],
  ["two nodes", ["zone=a", "zone=b"], ["zone", "zone"], ["zone=a", "zone=b"]],
  ["two nodes in one place", ["zone=a rack=1", "zone=a rack=2"], ["zone", "zone"], ["zone=a", "zone=a"]],
  [
    "two keys",
    ["zone=a rack=1", "zone=a rack=2"],
    ["zone rack", "zone rack"],
    ["zone=a rack=1", "zone=a rack=2"],
  ],
  [
    "nodes with different keys",
    ["zone=a rack=1", "zone=b rack=2"],
    ["zone", "zone rack"],
    ["zone=a", "zone=b rack=2"],
  ],
  ["a node with one label of two", ["zone=a"], ["zone rack"], []],
  [
    "keys in any order",
    ["zone=a rack=1", "rack=1 zone=a"],
    ["rack zone", "zone rack"],
    ["zone=a rack=1", "zone=a rack=1"],
  ],
  ["a driver without keys", ["zone=a"], [""], []],
  ["a node with another label", ["zone=c"], ["zone"], ["zone=c"]],
];
const named = (list: string[]) =>
  list.flatMap((text, index) => (text === "-" ? [] : [[`n${index + 1}`, text] as const]));
for (const [title, labels, keys, places] of PLACES)
  test(`places of a driver: ${title}`, () => {
    const nodes = named(labels).map(([name, text]) => node(name, segments(text)));
    const csiNodes = named(keys).map(([name, text]) =>
      csiNode(
        name,
        text.split(" ").filter((key) => key !== ""),
      ),
    );
    const found = placesOf({ name: DRIVER, topology: true }, csiNodes, nodes);
    assert.deepEqual(
      found.map(termKey),
      places.map((place) => termKey(segments(place))),
    );
    assert.deepEqual(placesOf({ name: "x", topology: true }, csiNodes, nodes), [], "another driver");
    assert.deepEqual(placesOf({ name: DRIVER, topology: false }, csiNodes, nodes), [{}], "without topology");
  });
