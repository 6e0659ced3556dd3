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
  StatefulSets,
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

const AGAIN = "kubectl delete -n default pvc/data-db-0 pod/db-0";

for (const [title, version, replicas, wanted] of [
  [
    "in standalone mode its set takes another template",
    "v1.35.0+mooring",
    1,
    `kubectl edit sts -n default db, ${AGAIN}`,
  ],
  ["a cluster takes none", "v1.35.0", 1, `kubectl delete sts -n default --cascade=orphan db, ${AGAIN}`],
  ["a claim that no set makes again", "v1.35.0", 0, "kubectl delete pvc -n default data-db-0"],
] as const)
  test(`a claim for which no pool has room names commands that work: ${title}`, async (t) => {
    const kinds = [PersistentVolumeClaims, StorageClasses, StatefulSets, Events];
    const store = Object.assign(await storeOf(t, kinds), {
      getText: async () => JSON.stringify({ gitVersion: version }),
    });
    await store.create(StorageClasses, {
      ...{ apiVersion: "storage.k8s.io/v1", kind: "StorageClass", metadata: { name: "fast" } },
      provisioner: "csi.example.com",
    });
    const resources = { requests: { storage: "9Ti" } };
    await store.create(StatefulSets, {
      ...{ apiVersion: "apps/v1", kind: "StatefulSet", metadata: { namespace: "default", name: "db" } },
      spec: {
        ...{ replicas, serviceName: "db", selector: {}, template: {} },
        volumeClaimTemplates: [{ metadata: { name: "data" }, spec: { resources } }],
      },
    });
    const { metadata } = await store.create(PersistentVolumeClaims, {
      ...{ apiVersion: "v1", kind: "PersistentVolumeClaim" },
      metadata: { namespace: "default", name: "data-db-0" },
      spec: { storageClassName: "fast", accessModes: ["ReadWriteOnce"], resources },
    });
    await store.create(Events, {
      ...{ apiVersion: "v1", kind: "Event", metadata: { namespace: "default", name: "refused" } },
      involvedObject: { uid: metadata.uid ?? "" },
      ...{ type: "Warning", reason: "ProvisioningFailed", message: "no pool has room for 9 TiB" },
    });
    const [cause] = causes(await explainClaim(contextOf(store), "default", "data-db-0"));
    assert.ok(cause?.next?.startsWith("make room in a pool, and it goes on by itself; or "), cause?.next);
    assert.ok(cause?.next?.endsWith(wanted), cause?.next);
  });
