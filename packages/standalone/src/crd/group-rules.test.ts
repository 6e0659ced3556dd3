import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import {
  isStatus,
  type KubeObject,
  type LocalStore,
  type Resource,
  type UnstructuredObject,
  VolumeGroupSnapshotClasses,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
} from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { parse } from "yaml";
import { bundledCrds, type CustomResourceDefinition } from "./index.ts";
import {
  classOf,
  content,
  contentOf,
  contentSpec,
  type Fields,
  group,
  groupOf,
  handles,
  imported,
  plainClass,
  selector,
  startWithCrds,
} from "./testing/group-samples.ts";

const importedContent = contentOf({ spec: { ...contentSpec, source: { groupSnapshotHandles: handles } } });
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

test("the definitions refuse what nobody can mean", async (t) => {
  covers(
    "KEP-043",
    "KEP-049",
    "KEP-059",
    "KEP-060",
    "KEP-061",
    "KEP-063",
    "KEP-107",
    "KEP-108",
    "KEP-109",
    "KEP-111",
  );
  const { store } = await startWithCrds(t);
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
  [
    "a content's class",
    VolumeGroupSnapshotContents,
    contentOf({ spec: { ...contentSpec, volumeGroupSnapshotClassName: "k" } }),
    (object) => Object.assign(at(object, "spec"), { volumeGroupSnapshotClassName: "l" }),
    /volumeGroupSnapshotClassName is immutable once set/,
  ],
  [
    "a content's handles",
    VolumeGroupSnapshotContents,
    importedContent,
    (object) =>
      Object.assign(at(object, "spec", "source", "groupSnapshotHandles"), { volumeGroupSnapshotHandle: "h" }),
    /groupSnapshotHandles is immutable/,
  ],
  [
    "handles instead of volumes",
    VolumeGroupSnapshotContents,
    content,
    (object) => Object.assign(at(object, "spec"), { source: { groupSnapshotHandles: handles } }),
    /volumeHandles is required once set/,
  ],
  [
    "volumes instead of handles",
    VolumeGroupSnapshotContents,
    importedContent,
    (object) => Object.assign(at(object, "spec"), { source: { volumeHandles: ["v"] } }),
    /groupSnapshotHandles is required once set/,
  ],
  [
    "a selector instead of a content",
    VolumeGroupSnapshots,
    imported,
    (object) => Object.assign(at(object, "spec"), { source: { selector } }),
    /volumeGroupSnapshotContentName is required once set/,
  ],
];

test("what is fixed stays fixed, and what may change may", async (t) => {
  covers("KEP-110");
  const { store } = await startWithCrds(t);
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
  const created = await store.updateStatus(VolumeGroupSnapshotContents, {
    ...retained,
    status: { volumeGroupSnapshotHandle: "g" },
  });
  const recreated = { ...created, status: { volumeGroupSnapshotHandle: "h" } };
  assert.match(
    await refusal(store.updateStatus(VolumeGroupSnapshotContents, recreated)),
    /volumeGroupSnapshotHandle is immutable once set/,
  );
  const whole = await store.create(VolumeGroupSnapshots, structuredClone(group) as never);
  const status = { boundVolumeGroupSnapshotContentName: "c" };
  const bound = await store.updateStatus(VolumeGroupSnapshots, { ...whole, status });
  const rebound = { ...bound, status: { boundVolumeGroupSnapshotContentName: "d" } };
  assert.match(
    await refusal(store.updateStatus(VolumeGroupSnapshots, rebound)),
    /boundVolumeGroupSnapshotContentName is immutable once set/,
  );
});

/** Rules that the last test meets by itself. */
const BY_STEPS = [
  /^volumeGroupSnapshotRef\.uid is immutable once set$/,
  /^volumeGroupSnapshotHandle is immutable once set$/,
  /^boundVolumeGroupSnapshotContentName is immutable once set$/,
];

test("every rule of the three kinds is met by a test, in every version", async () => {
  const met = [
    ...refusedAtBirth.map(([, , , why]) => why),
    ...fixed.map(([, , , , why]) => why),
    ...BY_STEPS,
  ];
  const files = (await bundledCrds()).filter((file) => file.includes("groupsnapshot.storage.k8s.io"));
  assert.equal(files.length, 3);
  const read = async (file: string) => parse(await readFile(file, "utf8")) as CustomResourceDefinition;
  const crds = await Promise.all(files.map(read));
  const messages = (version: unknown): string[] => [...messagesIn(version)].sort();
  for (const { metadata, spec } of crds) {
    const [first, ...others] = spec.versions.map(messages);
    assert.ok(first !== undefined && first.length > 0, metadata.name);
    for (const other of others) assert.deepEqual(other, first, metadata.name);
    assert.deepEqual(
      first.filter((message) => !met.some((why) => why.test(message))),
      [],
      metadata.name,
    );
  }
});

function* messagesIn(value: unknown): Generator<string> {
  if (typeof value !== "object" || value === null) return;
  for (const [key, child] of Object.entries(value)) {
    if (key === "x-kubernetes-validations") for (const { message } of child) yield message;
    else yield* messagesIn(child);
  }
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

function at(object: Fields, ...path: string[]): Fields {
  return path.reduce((node, field) => node[field] as Fields, object);
}

function keyOf({ metadata: { name, namespace } }: KubeObject): Parameters<LocalStore["get"]>[1] {
  return namespace === undefined ? { name } : { name, namespace };
}
