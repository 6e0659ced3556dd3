import assert from "node:assert/strict";
import { test } from "node:test";
import {
  Events,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Resource,
  StorageClasses,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import { explainGroupSnapshot } from "./explain-group.ts";
import { contextOf } from "./kinds.ts";
import { renderFinding } from "./render.ts";
import { storeOf } from "./testing.ts";

const KINDS = [
  Events,
  PersistentVolumeClaims,
  PersistentVolumes,
  StorageClasses,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
  VolumeSnapshotContents,
  VolumeSnapshots,
] as Resource[];

const NS = "shop";
const group = (status: object = {}) => ({
  apiVersion: "groupsnapshot.storage.k8s.io/v1",
  kind: "VolumeGroupSnapshot",
  metadata: { name: "g", namespace: NS },
  spec: { source: { selector: { matchLabels: { app: "db" } } } },
  status,
});

test("a group snapshot without a content is explained by the claims that it selects", async (t) => {
  const store = await storeOf(t, KINDS);
  await store.create(VolumeGroupSnapshots, group());
  const claim = (name: string, app: string) => ({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, namespace: NS, labels: { app } },
    spec: { storageClassName: "gone" },
  });
  await store.create(PersistentVolumeClaims, claim("data", "db"));
  await store.create(PersistentVolumeClaims, claim("web", "web"));
  const text = renderFinding(await explainGroupSnapshot(contextOf(store), NS, "g"));
  assert.match(text, /waiting {2}VolumeGroupSnapshot shop\/g: not ready yet/);
  assert.match(text, /PersistentVolumeClaim shop\/data: StorageClass gone does not exist/);
  assert.doesNotMatch(text, /shop\/web/);
});

test("an error of the driver is the cause, and every member that is not ready is listed", async (t) => {
  const store = await storeOf(t, KINDS);
  const made = await store.create(
    VolumeGroupSnapshots,
    group({
      readyToUse: false,
      boundVolumeGroupSnapshotContentName: "behind",
      error: { message: "array offline" },
    }),
  );
  await store.create(VolumeGroupSnapshotContents, {
    apiVersion: "groupsnapshot.storage.k8s.io/v1",
    kind: "VolumeGroupSnapshotContent",
    metadata: { name: "behind" },
    spec: {
      driver: "d",
      deletionPolicy: "Delete",
      source: { volumeHandles: ["v"] },
      volumeGroupSnapshotRef: { name: "g", namespace: NS },
    },
    status: { error: { message: "array offline" } },
  });
  const owner = { apiVersion: made.apiVersion, kind: made.kind, name: "g", uid: made.metadata.uid ?? "" };
  await store.create(VolumeSnapshots, {
    apiVersion: "snapshot.storage.k8s.io/v1",
    kind: "VolumeSnapshot",
    metadata: { name: "m", namespace: NS, ownerReferences: [owner] },
    spec: { source: { volumeSnapshotContentName: "c" } },
    status: { readyToUse: false, error: { message: "half made" } },
  });
  const text = renderFinding(await explainGroupSnapshot(contextOf(store), NS, "g"));
  assert.match(text, /FAILED {3}VolumeGroupSnapshot shop\/g: array offline/);
  assert.match(text, /FAILED .*VolumeGroupSnapshotContent behind: array offline/);
  assert.match(text, /FAILED .*VolumeSnapshot shop\/m: half made/);
});

test("one that is not there names where to search", async (t) => {
  const text = renderFinding(await explainGroupSnapshot(contextOf(await storeOf(t, KINDS)), NS, "g"));
  assert.match(text, /does not exist[\s\S]*mooring group list -n shop/);
});
