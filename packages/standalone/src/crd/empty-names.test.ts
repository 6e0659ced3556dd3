import assert from "node:assert/strict";
import { test } from "node:test";
import {
  isStatus,
  type Resource,
  type UnstructuredObject,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import { contentOf, contentSpec, groupOf, imported, startWithCrds } from "./testing/group-samples.ts";

const group = "snapshot.storage.k8s.io/v1";
const snapshotOf = (spec: Record<string, unknown>): UnstructuredObject => ({
  ...{ apiVersion: group, kind: "VolumeSnapshot", metadata: { name: "x", namespace: "a" } },
  spec,
});
const OF_CLAIM = { source: { persistentVolumeClaimName: "n" } };
const snapshotContentOf = (more: Record<string, unknown>): UnstructuredObject => ({
  ...{ apiVersion: group, kind: "VolumeSnapshotContent", metadata: { name: "x" } },
  spec: {
    ...{ deletionPolicy: "Retain", driver: "d", source: { snapshotHandle: "h" } },
    ...{ volumeSnapshotRef: { name: "s", namespace: "a" }, ...more },
  },
});
const groupContentOf = (more: Record<string, unknown>) => contentOf({ spec: { ...contentSpec, ...more } });

/** What is refused where the field with this path is empty, and taken as it is here. */
const cases: [path: string, resource: Resource, taken: UnstructuredObject][] = [
  ["spec.source.persistentVolumeClaimName", VolumeSnapshots, snapshotOf(OF_CLAIM)],
  [
    "spec.source.volumeSnapshotContentName",
    VolumeSnapshots,
    snapshotOf({ source: { volumeSnapshotContentName: "n" } }),
  ],
  [
    "spec.volumeSnapshotClassName",
    VolumeSnapshots,
    snapshotOf({ ...OF_CLAIM, volumeSnapshotClassName: "n" }),
  ],
  [
    "spec.volumeSnapshotClassName",
    VolumeSnapshotContents,
    snapshotContentOf({ volumeSnapshotClassName: "n" }),
  ],
  ["spec.volumeSnapshotRef.name", VolumeSnapshotContents, snapshotContentOf({})],
  ["spec.volumeSnapshotRef.namespace", VolumeSnapshotContents, snapshotContentOf({})],
  ["spec.source.snapshotHandle", VolumeSnapshotContents, snapshotContentOf({})],
  ["spec.source.volumeHandle", VolumeSnapshotContents, snapshotContentOf({ source: { volumeHandle: "n" } })],
  [
    "spec.source.volumeGroupSnapshotContentName",
    VolumeGroupSnapshots,
    groupOf({ spec: { source: { volumeGroupSnapshotContentName: "n" } } }),
  ],
  [
    "spec.volumeGroupSnapshotClassName",
    VolumeGroupSnapshots,
    groupOf({ spec: { ...(imported.spec as object | undefined), volumeGroupSnapshotClassName: "n" } }),
  ],
  [
    "spec.volumeGroupSnapshotClassName",
    VolumeGroupSnapshotContents,
    groupContentOf({ volumeGroupSnapshotClassName: "n" }),
  ],
  ["spec.volumeGroupSnapshotRef.name", VolumeGroupSnapshotContents, groupContentOf({})],
  ["spec.volumeGroupSnapshotRef.namespace", VolumeGroupSnapshotContents, groupContentOf({})],
];

/** A copy in which the field is empty. */
function emptyAt(object: UnstructuredObject, path: string): UnstructuredObject {
  const copy = structuredClone(object);
  const names = path.split(".");
  const last = names.pop() ?? "";
  let parent = copy as unknown as Record<string, Record<string, unknown>>;
  for (const name of names) parent = parent[name] as typeof parent;
  assert.equal(typeof parent[last], "string", `${path} is in the example`);
  Object.assign(parent, { [last]: "" });
  return copy;
}

test("an empty name of a claim, class, content or snapshot is refused with the path of its field", async (t) => {
  const { store } = await startWithCrds(t);
  for (const [path, resource, taken] of cases) {
    const { name, namespace } = taken.metadata;
    await assert.rejects(
      store.create(resource, emptyAt(taken, path)),
      (error) => isStatus(error, "Invalid") && error.message.includes(`${path}: Invalid value: `),
      `${taken.kind} ${path}`,
    );
    await store.create(resource, taken);
    await store.delete(resource, namespace === undefined ? { name } : { name, namespace });
  }
});
