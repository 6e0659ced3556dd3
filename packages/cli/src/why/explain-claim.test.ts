import assert from "node:assert/strict";
import { test } from "node:test";
import { volumeIdOf } from "@mooring/driver";
import {
  DRIVER_NAME,
  MOORING_API_VERSION,
  Pools,
  ShareManagers,
  VolumeAttachments,
  Volumes,
} from "@mooring/engine";
import {
  CSIDrivers,
  Events,
  PersistentVolumeClaims,
  StorageClasses,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import { explainClaim } from "./explain-claim.ts";
import { causes } from "./finding.ts";
import { contextOf } from "./kinds.ts";
import { storeOf } from "./testing.ts";

test("a claim whose volume cannot be made says what the volume waits for", async (t) => {
  const kinds = [
    Volumes,
    VolumeAttachments,
    ShareManagers,
    Pools,
    PersistentVolumeClaims,
    StorageClasses,
    CSIDrivers,
    Events,
  ];
  const store = await storeOf(t, kinds);
  await store.create(StorageClasses, {
    ...{ apiVersion: "storage.k8s.io/v1", kind: "StorageClass", metadata: { name: "ceph" } },
    provisioner: DRIVER_NAME,
  });
  const claim = await store.create(PersistentVolumeClaims, {
    ...{ apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { namespace: "default", name: "data" } },
    spec: {
      storageClassName: "ceph",
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "1Gi" } },
    },
  });
  const why = async () => causes(await explainClaim(contextOf(store), "default", "data"));
  assert.match((await why())[0]?.message ?? "", /waits for csi\.mooring\.dev/);
  const message = "the Ceph cluster of images does not respond";
  await store.create(Volumes, {
    ...{ apiVersion: MOORING_API_VERSION, kind: "Volume" },
    metadata: { name: volumeIdOf(`pvc-${claim.metadata.uid}`) },
    spec: { size: 1, pool: "ceph", volumeMode: "Filesystem", accessMode: "rwo" },
    status: { state: "creating", error: { code: "UNAVAILABLE", message } },
  });
  assert.ok((await why()).some((cause) => cause.message.includes(message)));
});

test("a claim that is to be a copy of a snapshot of itself says so, and is explained to its end", async (t) => {
  const kinds = [PersistentVolumeClaims, StorageClasses, VolumeSnapshots, VolumeSnapshotContents, Events];
  const store = await storeOf(t, kinds);
  await store.create(StorageClasses, {
    ...{ apiVersion: "storage.k8s.io/v1", kind: "StorageClass", metadata: { name: "fast" } },
    provisioner: "csi.example.com",
  });
  await store.create(VolumeSnapshots, {
    ...{ apiVersion: "snapshot.storage.k8s.io/v1", kind: "VolumeSnapshot" },
    metadata: { namespace: "default", name: "noon" },
    spec: { source: { persistentVolumeClaimName: "data" } },
  });
  await store.create(PersistentVolumeClaims, {
    ...{ apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { namespace: "default", name: "data" } },
    spec: {
      ...{ storageClassName: "fast", accessModes: ["ReadWriteOnce"] },
      resources: { requests: { storage: "1Gi" } },
      dataSource: { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "noon" },
    },
  });
  const [cause] = causes(await explainClaim(contextOf(store), "default", "data"));
  assert.match(cause?.message ?? "", /waits for what waits for it/);
  assert.match(cause?.next ?? "", /another source/);
});
