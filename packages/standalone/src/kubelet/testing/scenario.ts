import { access, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  armFailpoint,
  CSINodes,
  Events,
  isAlreadyExists,
  isNotFound,
  type KubeObject,
  KubeVolumeAttachments,
  mutate,
  type ObjectKey,
  type PersistentVolume,
  PersistentVolumes,
  type Pod,
  type Resource,
  StorageClasses,
  silentLogger,
} from "@mooring/store";
import { eventually as poll } from "@mooring/store/testing";
import { BOUND_BY_CONTROLLER, NO_PROVISIONER, SELECTED_NODE } from "../../controllers/binder/names.ts";
import { addImage, smallRoot } from "../../images/testing/small-image.ts";
import { TEST_DRIVER } from "./directory-driver.ts";
import { startRegisteringDriver } from "./registering-driver.ts";
import {
  claim,
  eventually,
  logOf,
  NODE,
  PersistentVolumeClaims,
  Pods,
  phase,
  pod,
  podWithClaim,
  startTestCluster,
} from "./test-cluster.ts";

/**
 * A life of claims and a pod that can be interrupted anywhere and run again on the same folder (the argument): made,
 * bound in each way there is, used, grown, deleted. When nothing is left it prints the failpoints that it has passed.
 */
const folder = process.argv[2] ?? "";
const stageFile = join(folder, "stage");
const WAIT_SECONDS = 60;
const CLAIMS = ["data", "later", "static", "picked"];
/** Its pod brings this claim along; of what the others ask for there is nothing. */
const OTHER_CLAIMS = ["app-scratch", "moved", "nothing"];
/** An attachment that another controller has made for a node that is not there. */
const ELSEWHERE = "held-elsewhere";
const SCRIPT = "echo start >> /data/starts; echo up; trap 'exit 0' TERM; while :; do sleep 0.05; done";

const passed = armFailpoint(process.env["MOORING_FAILPOINT"]);
const cluster = await startTestCluster(folder, silentLogger, {
  csiDriver: { requiresRepublish: true },
  republishMs: 100,
  registers: true,
});
const { store } = cluster;
const vendor = await startRegisteringDriver(join(folder, "kubelet"), "vendor.example.com");
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
  for (const name of ["by-hand", "picked"]) {
    await mkdir(join(folder, "driver/volumes", name), { recursive: true });
  }
  const provisioners = { later: TEST_DRIVER, "manual-later": NO_PROVISIONER, foreign: "example.com/none" };
  for (const [name, provisioner] of Object.entries(provisioners)) {
    await ensure(StorageClasses, {
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name },
      provisioner,
      volumeBindingMode: "WaitForFirstConsumer",
      reclaimPolicy: "Delete",
    });
  }
  await ensure(PersistentVolumes, volume("by-hand", "manual"));
  await ensure(PersistentVolumes, volume("picked", "manual-later"));
  await ensure(KubeVolumeAttachments, {
    ...{ apiVersion: "storage.k8s.io/v1", kind: "VolumeAttachment", metadata: { name: ELSEWHERE } },
    spec: {
      attacher: "none.example.com",
      nodeName: "elsewhere",
      source: { persistentVolumeName: "by-hand" },
    },
  });
  await ensure(PersistentVolumeClaims, claim("data"));
  await ensure(PersistentVolumeClaims, claim("later", { ...size, storageClassName: "later" }));
  await ensure(PersistentVolumeClaims, claim("static", { ...size, storageClassName: "manual" }));
  await ensure(PersistentVolumeClaims, claim("picked", { ...size, storageClassName: "manual-later" }));
  await ensure(PersistentVolumeClaims, claim("nothing", { ...size, storageClassName: "missing" }));
  await ensure(PersistentVolumeClaims, movedClaim());
  await ensure(Pods, podWithAll());
  await ensure(Pods, podWithClaim("waiting", "moved", "true"));
  await ensure(Pods, pod("unplaced", "true", { nodeSelector: { story: "nowhere" } }));
}

function volume(name: string, storageClassName: string): PersistentVolume {
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name },
    spec: {
      capacity: { storage: "2Gi" },
      accessModes: ["ReadWriteOnce"],
      persistentVolumeReclaimPolicy: "Delete",
      storageClassName,
      csi: { driver: TEST_DRIVER, volumeHandle: name },
    },
  };
}

/** Promised to a node that is not there any more. */
function movedClaim() {
  const made = claim("moved", { ...size, storageClassName: "foreign" });
  const annotations = { [SELECTED_NODE]: "elsewhere" };
  return { ...made, metadata: { ...made.metadata, annotations } };
}

function podWithAll(): Pod {
  return pod("app", "", {
    restartPolicy: "Always",
    volumes: [
      ...CLAIMS.map((name) => ({ name, persistentVolumeClaim: { claimName: name } })),
      { name: "scratch", ephemeral: { volumeClaimTemplate: { spec: size } } },
    ],
    initContainers: [{ name: "image", image: `oci:${layout}:v1`, command: ["touch", "/written"] }],
    containers: [
      {
        name: "main",
        image: "host",
        command: ["sh", "-c", SCRIPT],
        readinessProbe: { exec: { command: ["true"] }, periodSeconds: 1 },
        volumeMounts: [
          ...CLAIMS.map((name) => ({ name, mountPath: `/${name}` })),
          { name: "data", mountPath: "/part", subPath: "part" },
          { name: "scratch", mountPath: "/scratch" },
        ],
      },
    ],
  });
}

/** Waits for an event about the object: it is written once the step is done. */
async function isReported(name: string, reason: string): Promise<void> {
  await poll(`${reason} of ${name}`, async () => {
    const { items } = await store.list(Events, { namespace: "default" });
    return items.some((event) => event.involvedObject.name === name && event.reason === reason);
  });
}

/** What nothing comes of is reported, and what was decided before is taken back. */
async function beReported(): Promise<void> {
  await isReported("nothing", "ProvisioningFailed");
  await isReported("unplaced", "FailedScheduling");
  await eventually(store, PersistentVolumeClaims, "moved", {
    until: (object) => object?.metadata.annotations?.[SELECTED_NODE] === NODE,
    seconds: WAIT_SECONDS,
  });
  await isReported("app", "FailedAttachVolume");
  await remove(KubeVolumeAttachments, { name: ELSEWHERE });
}

/** Volumes that were reserved for a claim that has another one: by the binder, and by an operator. */
async function reserveInVain(): Promise<void> {
  const { metadata } = await store.get(PersistentVolumeClaims, inDefault("static"));
  const { uid = "" } = metadata;
  for (const [name, annotations] of Object.entries({ ours: { [BOUND_BY_CONTROLLER]: "yes" }, theirs: {} })) {
    const made = volume(name, "none");
    const claimRef = { kind: "PersistentVolumeClaim", ...inDefault("static"), uid };
    await ensure(PersistentVolumes, {
      ...made,
      metadata: { name, annotations },
      spec: { ...made.spec, claimRef, persistentVolumeReclaimPolicy: "Retain" },
    });
    await eventually(store, PersistentVolumes, name, {
      until: (object) => object?.status?.phase === "Available" && object.spec?.claimRef?.uid === undefined,
      seconds: WAIT_SECONDS,
    });
    await remove(PersistentVolumes, { name });
  }
}

async function use(): Promise<void> {
  await beReported();
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
  await reserveInVain();
}

/** A driver of another vendor registers itself, and leaves. */
async function comeAndGo(): Promise<void> {
  const isRegistered = async () =>
    (await store.get(CSINodes, { name: NODE })).spec.drivers.some(
      ({ name }) => name === "vendor.example.com",
    );
  await vendor.register();
  await poll("the driver to be registered", isRegistered);
  await vendor.leave();
  await poll("the driver to be forgotten", async () => !(await isRegistered()));
  const records = join(folder, "kubelet/plugins_registered");
  await poll("its record to be gone", async () => (await readdir(records)).length === 0);
}

if ((await readFile(stageFile, "utf8").catch(() => "use")) === "use") {
  await make();
  await use();
  await writeFile(stageFile, "delete");
}
for (const name of ["app", "waiting", "unplaced"]) await remove(Pods, inDefault(name));
for (const name of [...CLAIMS, ...OTHER_CLAIMS]) await remove(PersistentVolumeClaims, inDefault(name));
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
await comeAndGo();
await vendor.stop();
await cluster.stop();
process.stdout.write(JSON.stringify([...new Set(passed)]));
