import assert from "node:assert/strict";
import { test } from "node:test";
import { VolumeGroupRestores } from "@mooring/sidecars";
import {
  type Resource,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
  VolumeSnapshots,
} from "@mooring/store";
import { storeOf } from "../why/testing.ts";
import { listGroups } from "./report.ts";

const KINDS = [
  VolumeGroupRestores,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
  VolumeSnapshots,
] as Resource[];

test("the list of all namespaces counts members that an operator has made only in their own", async (t) => {
  const store = await storeOf(t, KINDS);
  for (const namespace of ["one", "two"])
    await store.create(VolumeGroupSnapshots, {
      apiVersion: "groupsnapshot.storage.k8s.io/v1",
      kind: "VolumeGroupSnapshot",
      metadata: { name: "nightly", namespace },
      spec: { source: { volumeGroupSnapshotContentName: `brought-${namespace}` } },
    });
  const member = await store.create(VolumeSnapshots, {
    apiVersion: "snapshot.storage.k8s.io/v1",
    kind: "VolumeSnapshot",
    metadata: { name: "member", namespace: "one" },
    spec: { source: { volumeSnapshotContentName: "content" } },
  });
  await store.updateStatus(VolumeSnapshots, { ...member, status: { volumeGroupSnapshotName: "nightly" } });
  const counted = (await listGroups(store, undefined)).map(
    ({ namespace, members }) => `${namespace}: ${members.length}`,
  );
  assert.deepEqual(counted.sort(), ["one: 1", "two: 0"]);
});
