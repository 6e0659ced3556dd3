import assert from "node:assert/strict";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import {
  Events,
  isDeleting,
  mutate,
  type PersistentVolume,
  PersistentVolumes,
  StorageClasses,
} from "@mooring/store";
import { covers, eventually as until } from "@mooring/store/testing";
import { TEST_DRIVER } from "../testing/directory-driver.ts";
import {
  claim,
  eventually,
  logOf,
  NODE,
  PersistentVolumeClaims,
  Pods,
  phase,
  podWithClaim,
} from "../testing/test-cluster.ts";
import { FOREVER, volumeCluster } from "../testing/volume-cluster.ts";

const { cluster, folder, remove, boundHandle, callsOf } = await volumeCluster();

test("a claim that is mounted read-only cannot be written to", async () => {
  covers("K8S-065");
  const { store } = cluster;
  await store.create(PersistentVolumeClaims, claim("ro"));
  const wanted = podWithClaim("ro", "ro", "touch /data/x || echo refused");
  for (const volume of wanted.spec?.volumes ?? [])
    if (volume.persistentVolumeClaim) volume.persistentVolumeClaim.readOnly = true;
  await store.create(Pods, wanted);
  await eventually(store, Pods, "ro", phase("Succeeded"));
  assert.match(await logOf(cluster, "ro"), /refused/);
});

test("a claim that grows is grown on the node too, while it is in use", async () => {
  const { store } = cluster;
  await store.create(PersistentVolumeClaims, claim("grow"));
  await store.create(Pods, podWithClaim("grow", "grow", FOREVER));
  await eventually(store, Pods, "grow", phase("Running"));
  await mutate(store, PersistentVolumeClaims, { namespace: "default", name: "grow" }, (object) => ({
    ...object,
    spec: { ...object.spec, resources: { requests: { storage: "2Gi" } } },
  }));
  const grown = await eventually(
    store,
    PersistentVolumeClaims,
    "grow",
    (object) => object?.status?.capacity?.storage === "2Gi",
  );
  assert.deepEqual(
    (grown?.status?.conditions ?? []).filter(({ status }) => status === "True"),
    [],
  );
  assert.ok(callsOf(await boundHandle("grow")).includes("NodeExpandVolume"));
  await remove("grow");
});

test("a claim stays while a pod uses it, and goes with the pod", async () => {
  const { store } = cluster;
  await store.create(PersistentVolumeClaims, claim("kept"));
  await store.create(Pods, podWithClaim("kept", "kept", FOREVER));
  await eventually(store, Pods, "kept", phase("Running"));
  const marked = await store.delete(PersistentVolumeClaims, { namespace: "default", name: "kept" });
  assert.ok(isDeleting(marked));
  await remove("kept");
  await eventually(store, PersistentVolumeClaims, "kept", (object) => object === undefined);
});

test("WaitForFirstConsumer: nothing happens before a pod comes; then the node is chosen and the volume made", async () => {
  const { store } = cluster;
  await store.create(StorageClasses, {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: "later" },
    provisioner: TEST_DRIVER,
    volumeBindingMode: "WaitForFirstConsumer",
    reclaimPolicy: "Delete",
  });
  await store.create(
    PersistentVolumeClaims,
    claim("later", {
      storageClassName: "later",
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "1Gi" } },
    }),
  );
  await eventually(store, PersistentVolumeClaims, "later", (object) => object?.status?.phase === "Pending");
  // Of a claim whose pod is there already nobody says that.
  await until("its event", async () =>
    (await store.list(Events, { namespace: "default" })).items.some(
      ({ reason, involvedObject }) => reason === "WaitForFirstConsumer" && involvedObject.name === "later",
    ),
  );
  await store.create(Pods, podWithClaim("later", "later", "echo done"));
  await eventually(store, Pods, "later", phase("Succeeded"));
  const bound = await store.get(PersistentVolumeClaims, { namespace: "default", name: "later" });
  assert.equal(bound.metadata.annotations?.["volume.kubernetes.io/selected-node"], NODE);
});

test("a volume that an administrator made is bound by class and size, used, and kept when its claim goes", async () => {
  const { store } = cluster;
  await mkdir(join(folder, "driver/volumes/by-hand"), { recursive: true });
  await writeFile(join(folder, "driver/volumes/by-hand/old"), "precious\n");
  const volume: PersistentVolume = {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: "by-hand" },
    spec: {
      capacity: { storage: "5Gi" },
      accessModes: ["ReadWriteOnce"],
      persistentVolumeReclaimPolicy: "Retain",
      storageClassName: "manual",
      csi: { driver: TEST_DRIVER, volumeHandle: "by-hand" },
    },
  };
  await store.create(PersistentVolumes, volume);
  await eventually(store, PersistentVolumes, "by-hand", (object) => object?.status?.phase === "Available");
  await store.create(
    PersistentVolumeClaims,
    claim("static", {
      storageClassName: "manual",
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "4Gi" } },
    }),
  );
  await store.create(Pods, podWithClaim("static", "static", "cat /data/old"));
  await eventually(store, Pods, "static", phase("Succeeded"));
  assert.equal(await logOf(cluster, "static"), "precious\n");
  await remove("static");
  await store.delete(PersistentVolumeClaims, { namespace: "default", name: "static" });
  await eventually(store, PersistentVolumes, "by-hand", (object) => object?.status?.phase === "Released");
  assert.deepEqual(await readdir(join(folder, "driver/volumes/by-hand")), ["old"]);
});

test("ReadWriteOncePod: a second pod waits, and its event names the pod to delete", async () => {
  const { store } = cluster;
  await store.create(
    PersistentVolumeClaims,
    claim("single", { accessModes: ["ReadWriteOncePod"], resources: { requests: { storage: "1Gi" } } }),
  );
  await store.create(Pods, podWithClaim("owner", "single", FOREVER));
  await eventually(store, Pods, "owner", phase("Running"));
  await store.create(Pods, podWithClaim("other", "single", FOREVER));
  const seen = await eventually(
    store,
    Pods,
    "other",
    (object) => object?.status?.conditions?.[0]?.reason === "Unschedulable",
  );
  assert.match(seen?.status?.conditions?.[0]?.message ?? "", /pod "owner"/);
  await remove("owner");
  await eventually(store, Pods, "other", phase("Running"));
  await remove("other");
});

test("a volume that a pod brings along is made for it", async () => {
  const { store } = cluster;
  const wanted = podWithClaim("brings", "unused", "echo x > /data/x && echo written");
  if (wanted.spec !== undefined) {
    const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
    wanted.spec.volumes = [{ name: "data", ephemeral: { volumeClaimTemplate: { spec } } }];
  }
  await store.create(Pods, wanted);
  const ended = await eventually(store, Pods, "brings", phase("Succeeded"));
  const made = await store.get(PersistentVolumeClaims, { namespace: "default", name: "brings-data" });
  assert.equal(made.metadata.ownerReferences?.[0]?.uid, ended?.metadata.uid);
  assert.equal(await logOf(cluster, "brings"), "written\n");
});
