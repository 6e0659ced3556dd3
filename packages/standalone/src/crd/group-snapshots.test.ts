import assert from "node:assert/strict";
import { test } from "node:test";
import {
  defineResource,
  type Resource,
  type UnstructuredObject,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
} from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { content, type Fields, group, startWithCrds } from "./testing/group-samples.ts";

const GROUP = "groupsnapshot.storage.k8s.io";
const VERSIONS = ["v1", "v1beta2", "v1beta1"] as const;

test("three kinds are served in three versions, and v1 is stored", async (t) => {
  covers("KEP-004", "KEP-005", "KEP-101", "KEP-118");
  const { kinds, store } = await startWithCrds(t);
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

test("members read the same in every version, also where v1beta1 has another field", async (t) => {
  covers("KEP-105");
  const { store } = await startWithCrds(t);
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

test("kubectl prints the columns that users know, in every version", async (t) => {
  const { kinds } = await startWithCrds(t);
  for (const [plural, names] of columns)
    for (const version of VERSIONS) {
      const shown = kinds.find(GROUP, version, plural)?.columns?.[version] ?? [];
      assert.deepEqual(
        shown.map(({ name }) => name),
        ["Name", ...names],
      );
    }
});

function inVersion(resource: Resource, version: string): Resource<UnstructuredObject> {
  return defineResource({
    group: resource.group,
    version,
    kind: resource.kind,
    plural: resource.plural,
    namespaced: resource.namespaced,
  });
}
