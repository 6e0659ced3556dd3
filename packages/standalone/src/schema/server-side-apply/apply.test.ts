import assert from "node:assert/strict";
import { test } from "node:test";
import { isStatus, type UnstructuredObject } from "@mooring/store";
import fc from "fast-check";
import { builtinKinds } from "../../builtin/index.ts";
import { createStrategy } from "../create-strategy.ts";
import type { JsonObject } from "../model.ts";
import type { KindSchema } from "../strategy.ts";

const widget: KindSchema = {
  group: "example.com",
  version: "v1",
  kind: "Widget",
  custom: true,
  hasStatus: true,
  schema: {
    type: "object",
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: builtinSchema("ConfigMap").properties?.metadata ?? {},
      spec: {
        type: "object",
        properties: {
          size: { type: "integer" },
          color: { type: "string" },
          labels: { type: "object", additionalProperties: { type: "string" } },
          tags: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
          order: { type: "array", items: { type: "string" } },
          parts: {
            type: "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            items: {
              type: "object",
              required: ["name"],
              properties: { name: { type: "string" }, a: { type: "integer" }, b: { type: "integer" } },
            },
          },
        },
      },
      status: { type: "object", properties: { ready: { type: "boolean" } } },
    },
  },
};
function builtinSchema(kind: string) {
  const found = builtinKinds.find((each) => each.resource.kind === kind);
  assert.ok(found);
  return found.schema;
}
const strategy = createStrategy(widget);

type Spec = JsonObject;
const object = (spec: Spec, more: JsonObject = {}): UnstructuredObject => ({
  apiVersion: "example.com/v1",
  kind: "Widget",
  metadata: { name: "w", namespace: "n" },
  spec: structuredClone(spec),
  ...more,
});
let clock = 0;
function now(): string {
  clock += 1;
  return new Date(clock * 1000).toISOString().replace(".000Z", "Z");
}
function apply(
  current: UnstructuredObject | undefined,
  manager: string,
  spec: Spec,
  force = false,
): UnstructuredObject {
  assert.ok(strategy.apply && strategy.create && strategy.update);
  const before = structuredClone(current);
  const context = { manager, force, time: now() };
  const result = strategy.apply(current && structuredClone(current), object(spec), context);
  assert.deepEqual(current, before);
  return current === undefined
    ? strategy.create(result, { dryRun: false })
    : strategy.update(result, structuredClone(current), { dryRun: false });
}
function update(
  current: UnstructuredObject | undefined,
  manager: string,
  change: (spec: Spec) => void,
): UnstructuredObject {
  const next = structuredClone(current ?? object({}));
  change(next.spec as Spec);
  assert.ok(strategy.trackManagers);
  next.metadata.managedFields = strategy.trackManagers(current, next, { manager, time: now() });
  return next;
}
function refusal(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    assert.ok(isStatus(error, "Conflict", "BadRequest"), String(error));
    return error.message;
  }
  return "";
}
const fieldsOf = (o: UnstructuredObject, manager: string, operation = "Apply") =>
  o.metadata.managedFields?.find((m) => m.manager === manager && m.operation === operation)?.fieldsV1;

test("what a manager applied and applies no more goes", () => {
  const first = apply(undefined, "me", {
    size: 1,
    color: "red",
    parts: [
      { name: "p", a: 1 },
      { name: "q", a: 2 },
    ],
  });
  assert.deepEqual(fieldsOf(first, "me"), {
    "f:spec": {
      "f:color": {},
      "f:parts": {
        'k:{"name":"p"}': { ".": {}, "f:a": {}, "f:name": {} },
        'k:{"name":"q"}': { ".": {}, "f:a": {}, "f:name": {} },
      },
      "f:size": {},
    },
  });
  const second = apply(first, "me", { size: 1, parts: [{ name: "q" }] });
  assert.deepEqual(second.spec, { size: 1, parts: [{ name: "q" }] });
});

test("two managers share what they agree on, and a field stays until both are done with it", () => {
  const one = apply(undefined, "one", { size: 1, color: "red" });
  const two = apply(one, "two", { size: 1, labels: { a: "1" } });
  const less = apply(two, "one", { color: "red" });
  assert.deepEqual(less.spec, { size: 1, color: "red", labels: { a: "1" } });
  const none = apply(less, "two", { labels: { a: "1" } });
  assert.deepEqual(none.spec, { color: "red", labels: { a: "1" } });
});

test("setting what another manager owns is a conflict that names field and manager; force takes it over", () => {
  const one = apply(undefined, "one", { size: 1, color: "red" });
  assert.equal(
    refusal(() => apply(one, "two", { size: 2 })),
    'Apply failed with 1 conflict: conflict with "one": .spec.size',
  );
  const forced = apply(one, "two", { size: 2 }, true);
  assert.deepEqual(fieldsOf(forced, "one"), { "f:spec": { "f:color": {} } });
  assert.deepEqual(forced.spec, { size: 2, color: "red" });
  const edited = update(forced, "editor", (spec) => {
    Object.assign(spec, { color: "blue", tags: ["x"] });
  });
  assert.equal(
    refusal(() => apply(edited, "one", { color: "red", size: 1 })),
    'Apply failed with 2 conflicts: conflicts with "editor" using example.com/v1:\n- .spec.color\nconflicts with "two":\n- .spec.size',
  );
});

test("elements of keyed lists and sets belong to who applied them; atomic lists to one manager", () => {
  const one = apply(undefined, "one", { tags: ["a"], parts: [{ name: "p", a: 1 }], order: ["x"] });
  const two = apply(one, "two", { tags: ["b"], parts: [{ name: "p", b: 2 }, { name: "q" }] });
  assert.deepEqual(two.spec, {
    tags: ["a", "b"],
    parts: [{ name: "p", a: 1, b: 2 }, { name: "q" }],
    order: ["x"],
  });
  assert.equal(
    refusal(() => apply(two, "two", { order: ["x", "y"] })),
    'Apply failed with 1 conflict: conflict with "one": .spec.order',
  );
  const gone = apply(two, "one", {});
  assert.deepEqual(gone.spec, { tags: ["b"], parts: [{ name: "p", b: 2 }, { name: "q" }] });
});

test("an update owns what it changed, and takes it from who applied it", () => {
  const applied = apply(undefined, "me", { size: 1, color: "red" });
  const edited = update(applied, "editor", (spec) => {
    spec.size = 5;
  });
  assert.deepEqual(fieldsOf(edited, "me"), { "f:spec": { "f:color": {} } });
  assert.deepEqual(fieldsOf(edited, "editor", "Update"), { "f:spec": { "f:size": {} } });
  const removed = update(edited, "other", (spec) => {
    delete spec.size;
  });
  assert.equal(fieldsOf(removed, "editor", "Update"), undefined);
});

test("spec and status have their own managers", () => {
  assert.ok(strategy.apply);
  const one = apply(undefined, "me", { size: 1 });
  const context = { manager: "me", force: false, time: now(), subresource: "status" };
  const two = strategy.apply(one, object({ size: 9 }, { status: { ready: true } }), context);
  assert.deepEqual(two.spec, { size: 1 });
  const entries = two.metadata.managedFields ?? [];
  assert.deepEqual(
    entries.map(({ subresource, fieldsV1 }) => [subresource, fieldsV1]),
    [
      [undefined, { "f:spec": { "f:size": {} } }],
      ["status", { "f:status": { "f:ready": {} } }],
    ],
  );
});

test("what cannot be applied is refused with its path", () => {
  assert.equal(
    refusal(() => apply(undefined, "me", { nonsense: 1 })),
    "failed to create typed patch object (n/w; example.com/v1, Kind=Widget): .spec.nonsense: field not declared in schema",
  );
  assert.match(
    refusal(() => apply(undefined, "me", { parts: [{ name: "p" }, { name: "p" }] })),
    /\.spec\.parts: duplicate entries for key \[name="p"\]/,
  );
  assert.match(
    refusal(() => apply(undefined, "me", { parts: [{ a: 1 }] })),
    /omits key field "name"/,
  );
});

test("kubectl goes from client-side to server-side apply without a conflict with itself", () => {
  const spec = { size: 1, color: "red" };
  const text = JSON.stringify(object(spec));
  const annotations = { "kubectl.kubernetes.io/last-applied-configuration": text };
  const made = object(spec);
  made.metadata.annotations = annotations;
  assert.ok(strategy.trackManagers);
  made.metadata.managedFields = strategy.trackManagers(undefined, made, {
    manager: "kubectl-client-side-apply",
    time: now(),
  });
  assert.match(
    refusal(() => apply(made, "other", { size: 2 })),
    /conflict with "kubectl-client-side-apply" using example.com\/v1: .spec.size/,
  );
  const moved = apply(made, "kubectl", { size: 2, color: "red" });
  assert.deepEqual(moved.spec, { size: 2, color: "red" });
  const last = moved.metadata.annotations?.["kubectl.kubernetes.io/last-applied-configuration"] ?? "";
  assert.equal((JSON.parse(last) as { spec: Spec }).spec.size, 2);
});

test("a client may edit the record of managers, or have it forgotten", () => {
  const one = apply(undefined, "one", { size: 1 });
  assert.ok(strategy.trackManagers);
  const reset = structuredClone(one);
  reset.metadata.managedFields = [{} as never];
  assert.deepEqual(strategy.trackManagers(one, reset, { manager: "x", time: now() }), []);
  const renamed = structuredClone(one);
  for (const entry of renamed.metadata.managedFields ?? []) entry.manager = "new";
  const kept = strategy.trackManagers(one, renamed, { manager: "x", time: now() });
  assert.deepEqual(
    kept.map(({ manager }) => manager),
    ["new"],
  );
});

const names = fc.constantFrom("p", "q", "r");
const specs = fc.record(
  {
    size: fc.integer({ min: 0, max: 3 }),
    color: fc.constantFrom("red", "blue"),
    labels: fc.dictionary(names, fc.constantFrom("1", "2")),
    tags: fc.uniqueArray(names),
    order: fc.array(names, { maxLength: 2 }),
    parts: fc.uniqueArray(
      fc.record({ name: names, a: fc.nat(2), b: fc.nat(2) }, { requiredKeys: ["name"] }),
      {
        selector: ({ name }) => name,
      },
    ),
  },
  { requiredKeys: [] },
);
const steps = fc.array(fc.record({ manager: fc.constantFrom("one", "two", "three"), spec: specs }), {
  maxLength: 6,
});

function play(list: readonly { manager: string; spec: Spec }[]): UnstructuredObject {
  return list.reduce<UnstructuredObject>((o, { manager, spec }) => apply(o, manager, spec, true), object({}));
}

test("property: applying the same again changes nothing, not even a time stamp", () => {
  fc.assert(
    fc.property(steps, specs, (before, spec) => {
      const once = apply(play(before), "me", spec, true);
      assert.deepEqual(apply(once, "me", spec), once);
    }),
  );
});

test("property: after a forced apply the object has what the manager applied", () => {
  fc.assert(
    fc.property(steps, specs, (before, spec) => {
      const result = apply(play(before), "me", spec, true).spec as Spec;
      assert.equal(result.size ?? spec.size, spec.size ?? result.size);
      assert.deepEqual(
        (spec.tags as string[] | undefined)?.filter((tag) => !(result.tags as string[]).includes(tag)) ?? [],
        [],
      );
      for (const [key, value] of Object.entries((spec.labels ?? {}) as Spec))
        assert.equal((result.labels as Spec)[key], value);
      if (spec.order !== undefined) assert.deepEqual(result.order, spec.order);
    }),
  );
});

test("property: when all managers apply nothing, nothing that was applied is left", () => {
  fc.assert(
    fc.property(steps, (before) => {
      const managers = ["one", "two", "three"];
      const end = managers.reduce((o, manager) => apply(o, manager, {}), play(before));
      assert.deepEqual(end.spec ?? {}, {});
    }),
  );
});

test("property: a manager that comes and goes leaves the others' object as it was", () => {
  fc.assert(
    fc.property(specs, specs, (mine, theirs) => {
      const before = apply(undefined, "one", mine);
      const shared: Spec = {};
      for (const key of ["labels", "tags", "parts"] as const)
        if (theirs[key] !== undefined) shared[key] = theirs[key];
      const conflict = refusal(() => apply(before, "guest", shared));
      if (conflict !== "") return;
      const after = apply(apply(before, "guest", shared), "guest", {});
      const sorted = (o: UnstructuredObject) =>
        JSON.stringify(o.spec, (_k, v) =>
          Array.isArray(v) ? [...v].map((i) => JSON.stringify(i)).sort() : v,
        );
      assert.deepEqual(JSON.parse(sorted(after)), JSON.parse(sorted(before)));
    }),
  );
});
