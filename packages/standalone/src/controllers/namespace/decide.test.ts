import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMaps, type Namespace, Pods } from "@mooring/store";
import { howMany } from "@mooring/store/testing";
import fc from "fast-check";
import { decide, type Remnant, type View } from "./decide.ts";

const namespace = (deleting: boolean, finalizers: string[] = ["kubernetes"]): Namespace => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name: "n", ...(deleting ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}) },
  spec: { finalizers },
});

const remnant = (resource: typeof Pods | typeof ConfigMaps, name: string, deleting = false): Remnant => ({
  resource,
  key: { namespace: "n", name },
  uid: name,
  deleting,
  finalizers: deleting ? ["example.com/keep"] : [],
});

const view = (overrides: Partial<View>): View => ({
  namespace: namespace(false),
  hasRootCa: true,
  hasDefaultAccount: true,
  remnants: [],
  ...overrides,
});

const TABLE: [string, View, string][] = [
  ["a complete namespace needs nothing", view({}), "done"],
  ["the certificate comes first", view({ hasRootCa: false, hasDefaultAccount: false }), "create-root-ca"],
  ["then the account", view({ hasDefaultAccount: false }), "create-default-account"],
  [
    "a leaving namespace gets nothing new",
    view({ namespace: namespace(true), hasRootCa: false }),
    "finalize",
  ],
  [
    "what is in it is deleted",
    view({ namespace: namespace(true), remnants: [remnant(ConfigMaps, "a")] }),
    "delete",
  ],
  [
    "what a finalizer keeps is reported",
    view({ namespace: namespace(true), remnants: [remnant(Pods, "a", true)] }),
    "report",
  ],
  ["a namespace of other finalizers is theirs", view({ namespace: namespace(true, ["other"]) }), "done"],
];
for (const [name, input, expected] of TABLE) {
  test(`${name}: ${expected}`, () => assert.equal(decide(input).do, expected));
}

test("pods go before what they use", () => {
  const remnants = [remnant(ConfigMaps, "used"), remnant(Pods, "user"), remnant(Pods, "leaving", true)];
  const step = decide(view({ namespace: namespace(true), remnants }));
  assert.ok(step.do === "delete");
  assert.deepEqual(
    step.remnants.map(({ uid }) => uid),
    ["user"],
  );
});

test("what was reported is not reported again", () => {
  const input = view({ namespace: namespace(true), remnants: [remnant(ConfigMaps, "kept", true)] });
  const step = decide(input);
  assert.ok(step.do === "report");
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  input.namespace.status = { conditions: step.conditions.map((each) => ({ ...each, lastTransitionTime })) };
  assert.equal(decide(input).do, "wait");
});

test("a namespace never goes before its content, and never loses content while it lives", () => {
  const remnants = fc.array(
    fc
      .record({ pod: fc.boolean(), name: fc.string(), deleting: fc.boolean() })
      .map(({ pod, name, deleting }) => remnant(pod ? Pods : ConfigMaps, name, deleting)),
  );
  const views = fc.record({
    deleting: fc.boolean(),
    remnants,
    hasRootCa: fc.boolean(),
    hasDefaultAccount: fc.boolean(),
  });
  fc.assert(
    fc.property(views, ({ deleting, ...rest }) => {
      const step = decide({ ...rest, namespace: namespace(deleting) });
      if (step.do === "finalize") assert.ok(deleting && rest.remnants.length === 0);
      if (step.do === "delete") assert.ok(deleting && step.remnants.every((each) => !each.deleting));
    }),
    { numRuns: howMany({ everyday: 2_000, deep: 20_000 }) },
  );
});
