import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import {
  defineResource,
  isStatus,
  type KubeObject,
  type LocalStore,
  Namespaces,
  type Resource,
  type UnstructuredObject,
  VolumeGroupSnapshotClasses,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
} from "@mooring/store";
import { bundledCrds, installCrds } from "./index.ts";
import { startTestCluster } from "./testing/cluster.ts";

const GROUP = "groupsnapshot.storage.k8s.io";
const VERSIONS = ["v1", "v1beta2", "v1beta1"] as const;

async function start(t: TestContext) {
  const path = await mkdtemp(join(tmpdir(), "mooring-group-crd-"));
  const { stop, ...cluster } = await startTestCluster(path);
  t.after(async () => {
    await stop();
    await rm(path, { recursive: true, force: true });
  });
  await cluster.store.create(Namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "a" } });
  await installCrds(cluster.store, await bundledCrds(), { signal: AbortSignal.timeout(60_000) });
  return cluster;
}

type Fields = Record<string, unknown>;
const make =
  (kind: string, namespaced: boolean) =>
  (fields: Fields): UnstructuredObject => ({
    apiVersion: `${GROUP}/v1`,
    kind,
    metadata: { name: "x", ...(namespaced ? { namespace: "a" } : {}) },
    ...structuredClone(fields),
  });
const groupOf = make("VolumeGroupSnapshot", true);
const classOf = make("VolumeGroupSnapshotClass", false);
const contentOf = make("VolumeGroupSnapshotContent", false);

const selector = { matchLabels: { app: "db" } };
const handles = { volumeGroupSnapshotHandle: "g", volumeSnapshotHandles: ["m"] };
const group = groupOf({ spec: { source: { selector } } });
const imported = groupOf({ spec: { source: { volumeGroupSnapshotContentName: "c" } } });
const plainClass = classOf({ driver: "d", deletionPolicy: "Delete", parameters: { a: "b" } });
const ref = { name: "s", namespace: "a" };
const contentSpec = {
  deletionPolicy: "Delete",
  driver: "d",
  volumeGroupSnapshotRef: ref,
  source: { volumeHandles: ["v"] },
};
const content = contentOf({ spec: contentSpec });
const without = (fields: Fields, key: string) =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => name !== key));

const refusedAtBirth: [title: string, resource: Resource, object: UnstructuredObject, why: RegExp][] = [
  [
    "an empty class name",
    VolumeGroupSnapshots,
    groupOf({ spec: { source: { selector }, volumeGroupSnapshotClassName: "" } }),
    /volumeGroupSnapshotClassName must not be the empty string when set/,
  ],
  [
    "a group of two sources",
    VolumeGroupSnapshots,
    groupOf({ spec: { source: { selector, volumeGroupSnapshotContentName: "c" } } }),
    /exactly one of selector and volumeGroupSnapshotContentName/,
  ],
  [
    "a group without a source",
    VolumeGroupSnapshots,
    groupOf({ spec: { source: {} } }),
    /exactly one of selector/,
  ],
  ["a group without a spec", VolumeGroupSnapshots, groupOf({}), /spec: Required value/],
  [
    "a selector that is a bare map",
    VolumeGroupSnapshots,
    groupOf({ spec: { selector: { myapp: "postgresql" } } }),
    /spec\.source: Required value/,
  ],
  [
    "a class for nobody",
    VolumeGroupSnapshotClasses,
    classOf({ driver: "", deletionPolicy: "Delete" }),
    /driver/,
  ],
  [
    "a class with its fields below spec",
    VolumeGroupSnapshotClasses,
    classOf({ spec: { driver: "d", parameters: {} } }),
    /driver: Required value/,
  ],
  [
    "a class without a policy",
    VolumeGroupSnapshotClasses,
    classOf({ driver: "d" }),
    /deletionPolicy: Required value/,
  ],
  [
    "a class with another policy",
    VolumeGroupSnapshotClasses,
    classOf({ driver: "d", deletionPolicy: "Keep" }),
    /supported values: "Delete", "Retain"/,
  ],
  [
    "a content of nobody",
    VolumeGroupSnapshotContents,
    contentOf({ spec: without(contentSpec, "volumeGroupSnapshotRef") }),
    /volumeGroupSnapshotRef: Required value/,
  ],
  [
    "a content of somebody without a namespace",
    VolumeGroupSnapshotContents,
    contentOf({ spec: { ...contentSpec, volumeGroupSnapshotRef: { name: "s" } } }),
    /both volumeGroupSnapshotRef.name and volumeGroupSnapshotRef.namespace must be set/,
  ],
  [
    "a content without a policy",
    VolumeGroupSnapshotContents,
    contentOf({ spec: without(contentSpec, "deletionPolicy") }),
    /deletionPolicy: Required value/,
  ],
  [
    "a content without a driver",
    VolumeGroupSnapshotContents,
    contentOf({ spec: without(contentSpec, "driver") }),
    /driver: Required value/,
  ],
  [
    "a content of two sources",
    VolumeGroupSnapshotContents,
    contentOf({
      spec: { ...contentSpec, source: { volumeHandles: ["v"], groupSnapshotHandles: handles } },
    }),
    /exactly one of volumeHandles and groupSnapshotHandles/,
  ],
  [
    "a content without a source",
    VolumeGroupSnapshotContents,
    contentOf({ spec: { ...contentSpec, source: {} } }),
    /exactly one of/,
  ],
];

test("[KEP-043] [KEP-049] [KEP-059] [KEP-060] [KEP-061] [KEP-063] [KEP-107] [KEP-108] [KEP-109] [KEP-111] the definitions refuse what nobody can mean", async (t) => {
  const { store } = await start(t);
  for (const [title, resource, object, why] of refusedAtBirth)
    await t.test(title, async () =>
      assert.match(await refusal(store.create(resource as Resource<UnstructuredObject>, object)), why),
    );
});

const fixed: [
  title: string,
  resource: Resource,
  first: UnstructuredObject,
  change: (object: Fields) => void,
  why: RegExp,
][] = [
  [
    "a selector",
    VolumeGroupSnapshots,
    group,
    (object) => Object.assign(at(object, "spec", "source"), { selector: { matchLabels: { app: "web" } } }),
    /selector is immutable/,
  ],
  [
    "a source",
    VolumeGroupSnapshots,
    group,
    (object) => Object.assign(at(object, "spec"), { source: { volumeGroupSnapshotContentName: "c" } }),
    /selector is required once set/,
  ],
  [
    "a content's name",
    VolumeGroupSnapshots,
    imported,
    (object) => Object.assign(at(object, "spec", "source"), { volumeGroupSnapshotContentName: "d" }),
    /volumeGroupSnapshotContentName is immutable/,
  ],
  [
    "a class's driver",
    VolumeGroupSnapshotClasses,
    plainClass,
    (object) => Object.assign(object, { driver: "e" }),
    /driver is immutable once set/,
  ],
  [
    "a class's policy",
    VolumeGroupSnapshotClasses,
    plainClass,
    (object) => Object.assign(object, { deletionPolicy: "Retain" }),
    /deletionPolicy is immutable once set/,
  ],
  [
    "a class's parameters",
    VolumeGroupSnapshotClasses,
    plainClass,
    (object) => Object.assign(object, { parameters: { a: "c" } }),
    /parameters are immutable once set/,
  ],
  [
    "a content's volumes",
    VolumeGroupSnapshotContents,
    content,
    (object) => Object.assign(at(object, "spec", "source"), { volumeHandles: ["v", "w"] }),
    /volumeHandles is immutable/,
  ],
  [
    "a content's driver",
    VolumeGroupSnapshotContents,
    content,
    (object) => Object.assign(at(object, "spec"), { driver: "e" }),
    /driver is immutable once set/,
  ],
  [
    "a content's owner",
    VolumeGroupSnapshotContents,
    content,
    (object) => Object.assign(at(object, "spec", "volumeGroupSnapshotRef"), { name: "t" }),
    /volumeGroupSnapshotRef.name and volumeGroupSnapshotRef.namespace are immutable/,
  ],
];

test("[KEP-110] what is fixed stays fixed, and what may change may", async (t) => {
  const { store } = await start(t);
  for (const [title, resource, first, change, why] of fixed)
    await t.test(title, async () => {
      const kind = resource as Resource<UnstructuredObject>;
      const made = await store.create(kind, structuredClone(first));
      const changed = structuredClone(made);
      change(changed);
      assert.match(await refusal(store.update(kind, changed)), why);
      await store.delete(kind, keyOf(made));
    });
  const made = await store.create(VolumeGroupSnapshotContents, structuredClone(content) as never);
  const retained = await store.update(VolumeGroupSnapshotContents, {
    ...made,
    spec: {
      ...made.spec,
      deletionPolicy: "Retain",
      volumeGroupSnapshotRef: { ...made.spec.volumeGroupSnapshotRef, uid: "u" },
    },
  });
  const other = structuredClone(retained);
  other.spec.volumeGroupSnapshotRef.uid = "w";
  assert.match(await refusal(store.update(VolumeGroupSnapshotContents, other)), /uid is immutable once set/);
  const cut = await store.updateStatus(VolumeGroupSnapshotContents, {
    ...retained,
    status: { volumeGroupSnapshotHandle: "g" },
  });
  const recut = { ...cut, status: { volumeGroupSnapshotHandle: "h" } };
  assert.match(
    await refusal(store.updateStatus(VolumeGroupSnapshotContents, recut)),
    /volumeGroupSnapshotHandle is immutable once set/,
  );
});

test("[KEP-004] [KEP-005] [KEP-101] [KEP-118] three kinds are served in three versions, and v1 is stored", async (t) => {
  const { kinds, store } = await start(t);
  const plurals = ["volumegroupsnapshots", "volumegroupsnapshotcontents", "volumegroupsnapshotclasses"];
  for (const plural of plurals) {
    const kind = kinds.find(GROUP, "v1", plural);
    assert.deepEqual(kind?.versions, VERSIONS);
    assert.equal(kind?.resource.version, "v1");
    assert.match(kind?.deprecationWarnings?.["v1beta1"] ?? "", /deprecated/);
    assert.equal(kind?.deprecationWarnings?.["v1beta2"], undefined);
  }
  assert.equal(kinds.find(GROUP, "v1", "volumegroups"), undefined);
  for (const version of VERSIONS) {
    const seen = inVersion(VolumeGroupSnapshots, version);
    const name = `by-${version}`;
    const { spec } = group;
    const made = { apiVersion: `${GROUP}/${version}`, kind: "VolumeGroupSnapshot", spec };
    await store.create(seen, { ...made, metadata: { name, namespace: "a" } });
    for (const other of VERSIONS) {
      const found = await store.get(inVersion(VolumeGroupSnapshots, other), { name, namespace: "a" });
      assert.equal(found.apiVersion, `${GROUP}/${other}`);
      assert.deepEqual(found["spec"], spec);
    }
  }
});

test("[KEP-105] members read the same in every version, also where v1beta1 has another field", async (t) => {
  const { store } = await start(t);
  const made = await store.create(VolumeGroupSnapshotContents, structuredClone(content) as never);
  const info = { volumeHandle: "v", snapshotHandle: "m", readyToUse: true, restoreSize: 1 };
  const pair = { volumeHandle: "v", snapshotHandle: "m" };
  await store.updateStatus(VolumeGroupSnapshotContents, {
    ...made,
    status: { volumeSnapshotInfoList: [info], volumeSnapshotHandlePairList: [pair] },
  });
  for (const version of VERSIONS) {
    const { status } = await store.get(inVersion(VolumeGroupSnapshotContents, version), { name: "x" });
    assert.deepEqual((status as Fields)["volumeSnapshotHandlePairList"], [pair]);
    assert.deepEqual((status as Fields)["volumeSnapshotInfoList"], [info]);
  }
});

const columns: [plural: string, names: string[]][] = [
  [
    "volumegroupsnapshots",
    ["ReadyToUse", "VolumeGroupSnapshotClass", "VolumeGroupSnapshotContent", "CreationTime", "Age"],
  ],
  [
    "volumegroupsnapshotcontents",
    [
      "ReadyToUse",
      "DeletionPolicy",
      "Driver",
      "VolumeGroupSnapshotClass",
      "VolumeGroupSnapshotNamespace",
      "VolumeGroupSnapshot",
      "Age",
    ],
  ],
  ["volumegroupsnapshotclasses", ["Driver", "DeletionPolicy", "Age"]],
];

test("kubectl prints the columns that people know, in every version", async (t) => {
  const { kinds } = await start(t);
  for (const [plural, names] of columns)
    for (const version of VERSIONS) {
      const shown = kinds.find(GROUP, version, plural)?.columns?.[version] ?? [];
      assert.deepEqual(
        shown.map(({ name }) => name),
        ["Name", ...names],
      );
    }
});

async function refusal(attempt: Promise<unknown>): Promise<string> {
  try {
    await attempt;
  } catch (error) {
    assert.ok(isStatus(error, "Invalid", "BadRequest"), String(error));
    return error.message;
  }
  return "";
}

function inVersion(resource: Resource, version: string): Resource<UnstructuredObject> {
  return defineResource(resource.group, version, resource.kind, resource.plural, resource.namespaced);
}

function at(object: Fields, ...path: string[]): Fields {
  return path.reduce((node, field) => node[field] as Fields, object);
}

function keyOf({ metadata: { name, namespace } }: KubeObject): Parameters<LocalStore["get"]>[1] {
  return namespace === undefined ? { name } : { name, namespace };
}
