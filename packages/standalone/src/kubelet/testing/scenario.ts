import { access, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  isAlreadyExists,
  isNotFound,
  type KubeObject,
  KubeVolumeAttachments,
  mutate,
  type ObjectKey,
  PersistentVolumes,
  type Pod,
  type Resource,
  StorageClasses,
} from "@mooring/store";
import { addImage, smallRoot } from "../../images/testing/small-image.ts";
import { TEST_DRIVER } from "./directory-driver.ts";
import {
  claim,
  eventually,
  logOf,
  PersistentVolumeClaims,
  Pods,
  phase,
  pod,
  startTestCluster,
} from "./test-cluster.ts";

/**
 * A life of claims and a pod that can be interrupted anywhere and run again on the same folder (the argument): made,
 * bound in each way there is, used, grown, deleted. Prints `done` when nothing is left.
 */
const folder = process.argv[2] ?? "";
const stageFile = join(folder, "stage");
const WAIT_SECONDS = 60;
const CLAIMS = ["data", "later", "static"];
const SCRIPT = "echo start >> /data/starts; echo up; trap 'exit 0' TERM; while :; do sleep 0.05; done";

const cluster = await startTestCluster(folder);
const { store } = cluster;
const inDefault = (name: string): ObjectKey => ({ namespace: "default", name });

async function ensure<T extends KubeObject>(resource: Resource<T>, object: T): Promise<void> {
  await store.create(resource, object).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
}

async function remove<T extends KubeObject>(resource: Resource<T>, key: ObjectKey): Promise<void> {
  await store.delete(resource, key).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
  await eventually(store, resource, key.name, {
    until: (object) => object === undefined,
    seconds: WAIT_SECONDS,
  });
}

const size = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };

const layout = join(folder, "layout");

/** An image that the pod's first container runs from. */
async function makeImage(): Promise<void> {
  const made = join(folder, "image-made");
  if (
    await access(made).then(
      () => true,
      () => false,
    )
  )
    return;
  await rm(layout, { recursive: true, force: true });
  await rm(join(folder, "root"), { recursive: true, force: true });
  await addImage(layout, "v1", await smallRoot(join(folder, "root")));
  await writeFile(made, "");
}

async function make(): Promise<void> {
  await makeImage();
  await mkdir(join(folder, "driver/volumes/by-hand"), { recursive: true });
  await ensure(StorageClasses, {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: "later" },
    provisioner: TEST_DRIVER,
    volumeBindingMode: "WaitForFirstConsumer",
    reclaimPolicy: "Delete",
  });
  await ensure(PersistentVolumes, {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: "by-hand" },
    spec: {
      capacity: { storage: "2Gi" },
      accessModes: ["ReadWriteOnce"],
      persistentVolumeReclaimPolicy: "Delete",
      storageClassName: "manual",
      csi: { driver: TEST_DRIVER, volumeHandle: "by-hand" },
    },
  });
  await ensure(PersistentVolumeClaims, claim("data"));
  await ensure(PersistentVolumeClaims, claim("later", { ...size, storageClassName: "later" }));
  await ensure(PersistentVolumeClaims, claim("static", { ...size, storageClassName: "manual" }));
  await ensure(Pods, podWithAll());
}

function podWithAll(): Pod {
  return pod("app", "", {
    restartPolicy: "Always",
    volumes: CLAIMS.map((name) => ({ name, persistentVolumeClaim: { claimName: name } })),
    initContainers: [{ name: "image", image: `oci:${layout}:v1`, command: ["touch", "/written"] }],
    containers: [
      {
        name: "main",
        image: "host",
        command: ["sh", "-c", SCRIPT],
        volumeMounts: [
          ...CLAIMS.map((name) => ({ name, mountPath: `/${name}` })),
          { name: "data", mountPath: "/part", subPath: "part" },
        ],
      },
    ],
  });
}

async function use(): Promise<void> {
  const runs = (object: Pod | undefined) =>
    phase("Running")(object) && object?.status?.containerStatuses?.[0]?.state?.running !== undefined;
  await eventually(store, Pods, "app", { until: runs, seconds: WAIT_SECONDS });
  while (!(await logOf(cluster, "app")).includes("up"))
    await new Promise((resolve) => setTimeout(resolve, 20));
  await mutate(store, PersistentVolumeClaims, inDefault("data"), (object) => ({
    ...object,
    spec: { ...object.spec, resources: { requests: { storage: "2Gi" } } },
  }));
  const grown = await eventually(store, PersistentVolumeClaims, "data", {
    until: (object) => object?.status?.capacity?.storage === "2Gi",
    seconds: WAIT_SECONDS,
  });
  if (grown === undefined) throw new Error("the claim vanished");
}

if ((await readFile(stageFile, "utf8").catch(() => "use")) === "use") {
  await make();
  await use();
  await writeFile(stageFile, "delete");
}
await remove(Pods, inDefault("app"));
for (const name of CLAIMS) await remove(PersistentVolumeClaims, inDefault(name));
for (const { metadata } of (await store.list(PersistentVolumes)).items) {
  await eventually(store, PersistentVolumes, metadata.name, {
    until: (object) => object === undefined,
    seconds: WAIT_SECONDS,
  });
}
for (const { metadata } of (await store.list(KubeVolumeAttachments)).items) {
  await eventually(store, KubeVolumeAttachments, metadata.name, {
    until: (object) => object === undefined,
    seconds: WAIT_SECONDS,
  });
}
await cluster.stop();
process.stdout.write("done\n");
