import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import {
  defineResource,
  isStatus,
  type LocalStore,
  Namespaces,
  type Resource,
  type UnstructuredObject,
  VolumeSnapshotClasses,
  VolumeSnapshotContents,
  VolumeSnapshots,
  waitFor,
} from "@mooring/store";
import {
  bundledCrds,
  type CustomResourceDefinition,
  CustomResourceDefinitions,
  installCrds,
} from "./index.ts";
import { startTestCluster } from "./testing/cluster.ts";

async function start(t: TestContext) {
  const path = await mkdtemp(join(tmpdir(), "mooring-crd-"));
  const { stop, ...cluster } = await startTestCluster(path);
  t.after(async () => {
    await stop();
    await rm(path, { recursive: true, force: true });
  });
  await cluster.store.create(Namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "a" } });
  return cluster;
}

async function refusal(attempt: Promise<unknown>): Promise<string> {
  try {
    await attempt;
  } catch (error) {
    assert.ok(isStatus(error, "Invalid", "BadRequest"), String(error));
    return error.message;
  }
  return "";
}

const Widgets: Resource<UnstructuredObject> = defineResource({
  group: "example.com",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  namespaced: true,
});

function widgetCrd(change: (version: Record<string, unknown>) => void = () => {}): CustomResourceDefinition {
  const version = {
    name: "v1",
    served: true,
    storage: true,
    subresources: {
      status: {},
      scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
    },
    selectableFields: [{ jsonPath: ".spec.color" }],
    schema: {
      openAPIV3Schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            required: ["size"],
            properties: {
              size: { type: "integer", minimum: 1 },
              color: { type: "string", enum: ["red", "blue"], default: "red" },
              replicas: { type: "integer", default: 1 },
              parts: {
                type: "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                items: {
                  type: "object",
                  required: ["name"],
                  properties: {
                    name: { type: "string" },
                    weight: {
                      type: "integer",
                      "x-kubernetes-validations": [{ rule: "self >= oldSelf", message: "only heavier" }],
                    },
                  },
                },
              },
              free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
            },
            "x-kubernetes-validations": [
              {
                rule: "self.size <= 10 || self.color == 'blue'",
                messageExpression: "'a ' + self.color + ' widget of ' + string(self.size) + ' is too large'",
                fieldPath: ".size",
                reason: "FieldValueForbidden",
              },
            ],
          },
          status: { type: "object", properties: { replicas: { type: "integer" } } },
        },
      },
    },
  };
  change(version);
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { kind: "Widget", plural: "widgets", shortNames: ["wd"] },
      versions: [version as never],
    },
  };
}

const widget = (spec: Record<string, unknown>, name = "w"): UnstructuredObject => ({
  apiVersion: "example.com/v1",
  kind: "Widget",
  metadata: { name, namespace: "a" },
  spec,
});

async function established(
  store: LocalStore,
  crd: CustomResourceDefinition,
): Promise<CustomResourceDefinition> {
  const made = await store.create(CustomResourceDefinitions, crd);
  const found = await waitFor(
    store,
    { resource: CustomResourceDefinitions, key: { name: made.metadata.name } },
    (c) =>
      c?.status?.conditions?.some((each) => each.type === "Established" && each.status === "True") === true,
    AbortSignal.timeout(60_000),
  );
  assert.ok(found);
  return found;
}

test("the definitions that come with Mooring install and protect what they say is fixed", async (t) => {
  const { store, kinds } = await start(t);
  await installCrds(store, await bundledCrds(), { signal: AbortSignal.timeout(60_000) });
  // At the next start they are as they should be, with what the server has filled in.
  const again: typeof store = new Proxy(store, {
    get(target, name) {
      if (name === "update") return () => assert.fail("a definition that is the same is written again");
      const value = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  await installCrds(again, await bundledCrds(), { signal: AbortSignal.timeout(60_000) });
  assert.deepEqual(kinds.find("snapshot.storage.k8s.io", "v1", "volumesnapshots")?.shortNames, ["vs"]);
  const base = { apiVersion: "snapshot.storage.k8s.io/v1" };
  const snapshot = (source: Record<string, string>, more = {}) => ({
    ...base,
    kind: "VolumeSnapshot",
    metadata: { name: "s", namespace: "a" },
    spec: { source, ...more },
  });
  const both = snapshot({ persistentVolumeClaimName: "c", volumeSnapshotContentName: "v" });
  assert.match(
    await refusal(store.create(VolumeSnapshots, both)),
    /spec\.source: Invalid value: "object": exactly one of/,
  );
  const unclassed = snapshot({ persistentVolumeClaimName: "c" }, { volumeSnapshotClassName: "" });
  assert.match(
    await refusal(store.create(VolumeSnapshots, unclassed)),
    /must not be the empty string when set/,
  );
  const made = await store.create(VolumeSnapshots, snapshot({ persistentVolumeClaimName: "c" }));
  const moved = { ...made, spec: { source: { persistentVolumeClaimName: "d" } } };
  assert.match(await refusal(store.update(VolumeSnapshots, moved)), /persistentVolumeClaimName is immutable/);
  const swapped = { ...made, spec: { source: { volumeSnapshotContentName: "d" } } };
  assert.match(
    await refusal(store.update(VolumeSnapshots, swapped)),
    /persistentVolumeClaimName is required once set/,
  );
  const ready = await store.updateStatus(VolumeSnapshots, {
    ...made,
    status: { readyToUse: true, restoreSize: "1Gi" },
  });
  assert.equal(ready.status?.restoreSize, "1Gi");
  const nameless = {
    ...base,
    kind: "VolumeSnapshotContent",
    metadata: { name: "c" },
    spec: {
      deletionPolicy: "Delete" as const,
      driver: "d",
      source: { volumeHandle: "h" },
      volumeSnapshotRef: { name: "s" },
    },
  };
  assert.match(
    await refusal(store.create(VolumeSnapshotContents, nameless as never)),
    /both spec.volumeSnapshotRef.name and spec.volumeSnapshotRef.namespace must be set/,
  );
  const odd = {
    ...base,
    kind: "VolumeSnapshotClass",
    metadata: { name: "c" },
    driver: "d",
    deletionPolicy: "Keep",
  };
  assert.match(
    await refusal(store.create(VolumeSnapshotClasses, odd as never)),
    /deletionPolicy: Unsupported value: "Keep": supported values: "Delete", "Retain"/,
  );
});

test("custom resources are defaulted, pruned, validated, selected by field, and keep their status apart", async (t) => {
  const { store } = await start(t);
  await established(store, widgetCrd());
  const made = await store.create(Widgets, {
    ...widget({ size: 2, junk: 1, free: { any: [1] } }),
    status: { replicas: 9 },
  });
  assert.deepEqual(made.spec, { size: 2, color: "red", replicas: 1, free: { any: [1] } });
  assert.equal(made.status, undefined);
  assert.match(
    await refusal(store.create(Widgets, widget({}, "x"))),
    /Widget\.example\.com "x" is invalid: spec\.size: Required value/,
  );
  assert.match(
    await refusal(store.create(Widgets, widget({ size: "2" }, "x"))),
    /spec\.size: Invalid value: "2": spec\.size in body must be of type integer: "string"/,
  );
  assert.equal(
    await refusal(store.create(Widgets, widget({ size: 20 }, "x"))),
    'Widget.example.com "x" is invalid: spec.size: Forbidden: a red widget of 20 is too large',
  );
  const twice = widget({ size: 1, parts: [{ name: "p" }, { name: "p" }] }, "x");
  assert.match(
    await refusal(store.create(Widgets, twice)),
    /spec\.parts\[1\]: Duplicate value: {"name":"p"}/,
  );
  await store.create(Widgets, widget({ size: 20, color: "blue" }, "b"));
  const blue = await store.list(Widgets, { namespace: "a", fieldSelector: "spec.color=blue" });
  assert.deepEqual(
    blue.items.map((item) => item.metadata.name),
    ["b"],
  );
});

test("transition rules follow the elements of keyed lists", async (t) => {
  const { store } = await start(t);
  await established(store, widgetCrd());
  const made = await store.create(
    Widgets,
    widget({
      size: 1,
      parts: [
        { name: "p", weight: 5 },
        { name: "q", weight: 1 },
      ],
    }),
  );
  const parts = (list: unknown[]) => ({ ...made, spec: { size: 1, parts: list } });
  assert.match(
    await refusal(
      store.update(
        Widgets,
        parts([
          { name: "q", weight: 9 },
          { name: "p", weight: 4 },
        ]),
      ),
    ),
    /spec\.parts\[1\]\.weight: Invalid value: "integer": only heavier/,
  );
  await store.update(
    Widgets,
    parts([
      { name: "q", weight: 9 },
      { name: "p", weight: 6 },
    ]),
  );
});

test("a definition is refused when it is not structural or its rules do not compile", async (t) => {
  const { store } = await start(t);
  const spec = (version: Record<string, unknown>) =>
    (version as { schema: { openAPIV3Schema: { properties: { spec: Record<string, unknown> } } } }).schema
      .openAPIV3Schema.properties.spec;
  const cases: [(version: Record<string, unknown>) => void, RegExp][] = [
    [
      (v) => delete spec(v).type,
      /properties\[spec\]\.type: Required value: must not be empty for specified object fields/,
    ],
    [
      (v) => Object.assign(spec(v), { "x-kubernetes-validations": [{ rule: "self.size +" }] }),
      /compilation failed/,
    ],
    [
      (v) => Object.assign(spec(v), { "x-kubernetes-validations": [{ rule: "1 + 1" }] }),
      /must evaluate to a bool/,
    ],
    [
      (v) => Object.assign(spec(v), { "x-kubernetes-validations": [{ rule: "self.nope == 1" }] }),
      /compilation failed: ERROR: <input>:1:\d+: undefined field 'nope'/,
    ],
    [
      (v) => {
        const rules = [{ rule: "self == oldSelf" }];
        const items = { type: "string", "x-kubernetes-validations": rules };
        Object.assign(spec(v).properties as object, { list: { type: "array", items } });
      },
      /oldSelf cannot be used on the uncorrelatable portion of the schema within .*properties\[list\]/,
    ],
    [(v) => Object.assign(v, { storage: false }), /exactly one version marked as storage version/],
    [(v) => Object.assign(v, { schema: {} }), /schemas are required/],
  ];
  for (const [change, expected] of cases) {
    assert.match(await refusal(store.create(CustomResourceDefinitions, widgetCrd(change))), expected);
  }
});

test("several versions are served from one stored form", async (t) => {
  const { store, kinds } = await start(t);
  const crd = widgetCrd();
  const [v1] = crd.spec.versions;
  assert.ok(v1);
  crd.spec.versions.push({ ...structuredClone(v1), name: "v1beta1", storage: false, deprecated: true });
  await established(store, crd);
  const old = defineResource<UnstructuredObject>({
    group: "example.com",
    version: "v1beta1",
    kind: "Widget",
    plural: "widgets",
    namespaced: true,
  });
  const made = await store.create(old, { ...widget({ size: 1 }), apiVersion: "example.com/v1beta1" });
  assert.equal(made.apiVersion, "example.com/v1beta1");
  assert.equal((await store.get(Widgets, { namespace: "a", name: "w" })).apiVersion, "example.com/v1");
  const info = kinds.find("example.com", "v1beta1", "widgets");
  assert.deepEqual(info?.versions, ["v1", "v1beta1"]);
  assert.equal(info?.deprecationWarnings?.v1beta1, "example.com/v1beta1 Widget is deprecated");
});

test("names that are taken are not accepted, and are once they are free", async (t) => {
  const { store, kinds } = await start(t);
  await established(store, widgetCrd());
  const rival = widgetCrd();
  rival.metadata.name = "gadgets.example.com";
  rival.spec.names = { kind: "Gadget", plural: "gadgets", shortNames: ["wd"] };
  await store.create(CustomResourceDefinitions, rival);
  const accepted = (status: string) => (crd: CustomResourceDefinition | undefined) =>
    crd?.status?.conditions?.some((c) => c.type === "NamesAccepted" && c.status === status) === true;
  const key = { name: "gadgets.example.com" };
  const refused = await waitFor(
    store,
    { resource: CustomResourceDefinitions, key },
    accepted("False"),
    AbortSignal.timeout(60_000),
  );
  assert.equal(refused?.status?.conditions?.[0]?.message, '"wd" is already in use');
  assert.equal(kinds.find("example.com", "v1", "gadgets"), undefined);
  await store.delete(CustomResourceDefinitions, { name: "widgets.example.com" });
  await waitFor(
    store,
    { resource: CustomResourceDefinitions, key },
    accepted("True"),
    AbortSignal.timeout(60_000),
  );
});

test("deleting a definition deletes its objects first, and waits for their finalizers", async (t) => {
  const { store, registry } = await start(t);
  await established(store, widgetCrd());
  const kept = widget({ size: 1 });
  kept.metadata.finalizers = ["example.com/keep"];
  await store.create(Widgets, kept);
  await store.delete(CustomResourceDefinitions, { name: "widgets.example.com" });
  const marked = await waitFor(
    store,
    { resource: Widgets, key: { namespace: "a", name: "w" } },
    (w) => w?.metadata.deletionTimestamp !== undefined,
    AbortSignal.timeout(60_000),
  );
  assert.ok(marked);
  const late = store.create(Widgets, widget({ size: 1 }, "late"));
  await assert.rejects(late, /create not allowed while custom resource definition is terminating/);
  await store.update(Widgets, { ...marked, metadata: { ...marked.metadata, finalizers: [] } });
  const key = { name: "widgets.example.com" };
  await waitFor(
    store,
    { resource: CustomResourceDefinitions, key },
    (crd) => crd === undefined,
    AbortSignal.timeout(60_000),
  );
  assert.equal(registry.find(Widgets), undefined);
});
