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
const snapshotContentOf = (more: Record<string, unknown>): UnstructuredObject => ({
  ...{ apiVersion: group, kind: "VolumeSnapshotContent", metadata: { name: "x" } },
  spec: {
    ...{ deletionPolicy: "Retain", driver: "d", source: { snapshotHandle: "h" } },
    ...{ volumeSnapshotRef: { name: "s", namespace: "a" }, ...more },
  },
});
const groupContentOf = (more: Record<string, unknown>) => contentOf({ spec: { ...contentSpec, ...more } });

/** What is refused, by the path of its field; the same with a name is taken. */
const cases: [path: string, resource: Resource, of: (name: string) => UnstructuredObject][] = [
  [
    "spec.source.persistentVolumeClaimName",
    VolumeSnapshots,
    (name) => snapshotOf({ source: { persistentVolumeClaimName: name } }),
  ],
  [
    "spec.source.volumeSnapshotContentName",
    VolumeSnapshots,
    (name) => snapshotOf({ source: { volumeSnapshotContentName: name } }),
  ],
  [
    "spec.volumeSnapshotClassName",
    VolumeSnapshots,
    (name) => snapshotOf({ source: { persistentVolumeClaimName: "c" }, volumeSnapshotClassName: name }),
  ],
  [
    "spec.volumeSnapshotClassName",
    VolumeSnapshotContents,
    (name) => snapshotContentOf({ volumeSnapshotClassName: name }),
  ],
  [
    "spec.volumeSnapshotRef.name",
    VolumeSnapshotContents,
    (name) => snapshotContentOf({ volumeSnapshotRef: { name, namespace: "a" } }),
  ],
  [
    "spec.volumeSnapshotRef.namespace",
    VolumeSnapshotContents,
    (namespace) => snapshotContentOf({ volumeSnapshotRef: { name: "s", namespace } }),
  ],
  [
    "spec.source.snapshotHandle",
    VolumeSnapshotContents,
    (snapshotHandle) => snapshotContentOf({ source: { snapshotHandle } }),
  ],
  [
    "spec.source.volumeHandle",
    VolumeSnapshotContents,
    (volumeHandle) => snapshotContentOf({ source: { volumeHandle } }),
  ],
  [
    "spec.source.volumeGroupSnapshotContentName",
    VolumeGroupSnapshots,
    (name) => groupOf({ spec: { source: { volumeGroupSnapshotContentName: name } } }),
  ],
  [
    "spec.volumeGroupSnapshotClassName",
    VolumeGroupSnapshots,
    (name) =>
      groupOf({ spec: { ...(imported.spec as object | undefined), volumeGroupSnapshotClassName: name } }),
  ],
  [
    "spec.volumeGroupSnapshotClassName",
    VolumeGroupSnapshotContents,
    (name) => groupContentOf({ volumeGroupSnapshotClassName: name }),
  ],
  [
    "spec.volumeGroupSnapshotRef.name",
    VolumeGroupSnapshotContents,
    (name) => groupContentOf({ volumeGroupSnapshotRef: { name, namespace: "a" } }),
  ],
  [
    "spec.volumeGroupSnapshotRef.namespace",
    VolumeGroupSnapshotContents,
    (namespace) => groupContentOf({ volumeGroupSnapshotRef: { name: "s", namespace } }),
  ],
];

test("an empty name of a claim, class, content or snapshot is refused with the path of its field", async (t) => {
  const { store } = await startWithCrds(t);
  for (const [path, resource, of] of cases) {
    const { kind, metadata } = of("n");
    await assert.rejects(
      store.create(resource, of("")),
      (error) => isStatus(error, "Invalid") && error.message.includes(`${path}: Invalid value: `),
      `${kind} ${path}`,
    );
    await store.create(resource, of("n"));
    const { name, namespace } = metadata;
    await store.delete(resource, namespace === undefined ? { name } : { name, namespace });
  }
});
