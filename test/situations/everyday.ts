import { open } from "node:fs/promises";
import { join } from "node:path";
import { imageOf, untilBound, volumeOf } from "./bound.ts";
import { aClaim, aClass, aPod, withContainer, withSpec } from "./objects.ts";
import type { Situation, World } from "./situation.ts";
import { aJob, aSet, forever } from "./workloads.ts";

const untilReady = ({ kubectl, namespace }: World, pod: string) =>
  kubectl.run("wait", "--for=condition=Ready", `pod/${pod}`, "-n", namespace, "--timeout=120s");
const apply = ({ kubectl, namespace }: World, object: { metadata: object }) =>
  kubectl.apply(JSON.stringify({ ...object, metadata: { ...object.metadata, namespace } }));

/** A PersistentVolume that an operator writes by hand, for the claim `data` of the situation. */
const aVolume = (name: string, namespace: string, fields: object = {}): object => ({
  ...{ apiVersion: "v1", kind: "PersistentVolume", metadata: { name } },
  spec: {
    claimRef: { namespace, name: "data" },
    ...{ capacity: { storage: "64Mi" }, accessModes: ["ReadWriteOnce"], storageClassName: "" },
    persistentVolumeReclaimPolicy: "Retain",
    csi: { driver: "csi.mooring.dev", volumeHandle: "v-of-an-older-cluster", fsType: "ext4" },
    ...fields,
  },
});

/** What users meet on most days, most of it none of a driver's doing. */
export const EVERYDAY: readonly Situation[] = [
  {
    name: "a raw volume that a pod wants as a folder",
    objects: [aClaim("data", { block: true }), aPod("web", undefined, { "/data": "data" })],
    target: "pod/web",
    cause:
      /container main: CreateContainerConfigError: volume "data" has volumeMode Block, but is specified in volumeMounts/,
    next: /references, .*kubectl describe pod -n \S+ web/,
  },
  {
    name: "a class that names a pool that is none",
    objects: [
      {
        ...{ apiVersion: "storage.k8s.io/v1", kind: "StorageClass" },
        ...{ metadata: { name: "fast", namespace: "" }, provisioner: "csi.mooring.dev" },
        parameters: { pool: "nvme" },
      },
      aClaim("data", { className: "fast" }),
    ],
    target: "pvc/data",
    cause: /ProvisioningFailed: .*nvme/,
    next: /kubectl describe pvc/,
  },
  {
    name: "a StatefulSet whose claims are above the quota",
    objects: [
      {
        ...{ apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "storage" } },
        spec: { hard: { "requests.storage": "100Mi" } },
      },
      aSet("StatefulSet", "db", forever(aPod("db", undefined, { "/data": "data" })), {
        ...{ serviceName: "db", volumeClaimTemplates: [aClaim("data", { size: "1Gi" })] },
      }),
    ],
    target: "sts/db",
    cause: /StatefulSet \S+\/db: .*exceeded quota: storage/,
    next: /kubectl describe statefulset -n \S+ db/,
  },
  {
    name: "a PersistentVolume by hand, of a volume that the driver does not have",
    objects: [
      withSpec(aClaim("data", { className: "" }), { volumeName: "old-1" }),
      aPod("web", undefined, { "/data": "data" }),
    ],
    breaks: ({ kubectl, namespace }) => kubectl.apply(JSON.stringify(aVolume("old-1", namespace))),
    target: "pod/web",
    cause: /Volume v-of-an-older-cluster: does not exist/,
    next: /volume/,
  },
  {
    name: "a volume on a node that has gone",
    objects: [
      withSpec(aClaim("data", { className: "" }), { volumeName: "old-2" }),
      aPod("web", undefined, { "/data": "data" }),
    ],
    breaks: ({ kubectl, namespace }) => {
      const where = { key: "kubernetes.io/hostname", operator: "In", values: ["node-z"] };
      const required = { nodeSelectorTerms: [{ matchExpressions: [where] }] };
      const csi = { driver: "csi.example.com", volumeHandle: "disk-7" };
      const volume = aVolume("old-2", namespace, { csi, nodeAffinity: { required } });
      return kubectl.apply(JSON.stringify(volume));
    },
    target: "pod/web",
    cause: /Pod \S+\/web: Pending: .*volume node affinity conflict/,
    next: /see on which node its volumes are, .*kubectl describe pv, kubectl get nodes/,
  },
  {
    name: "a volume by name that another claim has",
    objects: [withSpec(aClaim("data", { className: "" }), { volumeName: "old-4" })],
    breaks: ({ kubectl, namespace }) =>
      kubectl.apply(
        JSON.stringify(aVolume("old-4", namespace, { claimRef: { namespace, name: "first", uid: "none" } })),
      ),
    target: "pvc/data",
    cause: /names PersistentVolume old-4, which claim \S+\/first has/,
    next: /delete it, and create it again .*kubectl delete pvc -n \S+ data/,
  },
  {
    name: "a volume of a kind that the kubelet does not mount",
    objects: [
      withSpec(aClaim("data", { className: "" }), { volumeName: "old-5" }),
      aPod("web", undefined, { "/data": "data" }),
    ],
    breaks: ({ kubectl, namespace }) => {
      const nfs = { server: "192.0.2.1", path: "/export" };
      return kubectl.apply(JSON.stringify(aVolume("old-5", namespace, { csi: undefined, nfs })));
    },
    target: "pod/web",
    cause: /Pod \S+\/web: Pending: FailedMount: .*PV old-5 is not a CSI volume/,
    next: /create the pod again with a claim of a CSI driver's class/,
  },
  {
    name: "a volume that is too small for the claim that names it",
    objects: [withSpec(aClaim("data", { className: "", size: "1Gi" }), { volumeName: "old-3" })],
    breaks: ({ kubectl, namespace }) =>
      kubectl.apply(
        JSON.stringify(aVolume("old-3", namespace, { claimRef: undefined, storageClassName: "by-hand" })),
      ),
    target: "pvc/data",
    cause: /PersistentVolumeClaim \S+\/data: .*old-3.*(small|large)/,
    next: /old-3|kubectl/,
  },
  {
    name: "a program that takes more memory than it may",
    objects: [
      withContainer(aPod("web", "x=$(head -c 200000000 /dev/zero | tr '\\0' x); echo done $x"), {
        resources: { limits: { memory: "32Mi" } },
      }),
    ],
    target: "pod/web",
    cause: /container main: .*OOMKilled/,
    next: /let it have more memory, resources\.limits\.memory of container main \(32Mi now\)/,
  },
  {
    name: "an emptyDir that has grown above its limit",
    objects: [
      withSpec(aPod("web", "head -c 30000000 /dev/zero >/scratch/file; exec sleep 100000"), {
        volumes: [{ name: "scratch", emptyDir: { sizeLimit: "5Mi" } }],
        containers: [
          {
            ...{ name: "main", image: "host" },
            command: ["sh", "-c", "head -c 30000000 /dev/zero >/scratch/file; exec sleep 100000"],
            volumeMounts: [{ name: "scratch", mountPath: "/scratch" }],
          },
        ],
      }),
    ],
    target: "pod/web",
    cause: /Pod \S+\/web: Failed: .*(EmptyDir|emptyDir|exceeds)/,
    next: /kubectl/,
  },
  {
    name: "a pod that may not run longer",
    objects: [withSpec(aPod("web"), { activeDeadlineSeconds: 1 })],
    target: "pod/web",
    cause: /Pod \S+\/web: Failed: .*(DeadlineExceeded|active on the node longer)/,
    next: /kubectl/,
  },
  {
    name: "a folder of the machine that is not there",
    objects: [
      withSpec(aPod("web"), {
        volumes: [{ name: "data", hostPath: { path: "/no/such/folder", type: "Directory" } }],
      }),
    ],
    target: "pod/web",
    cause: /Pod \S+\/web: Pending: FailedMount: .*\/no\/such\/folder/,
    next: /kubectl describe pod -n \S+ web/,
  },
  {
    name: "a volume of a pod's own, of a class that nobody has made",
    objects: [
      withSpec(aPod("web"), {
        volumes: [
          {
            name: "scratch",
            ephemeral: { volumeClaimTemplate: { spec: aClaim("x", { className: "gold" }).spec } },
          },
        ],
      }),
    ],
    target: "pod/web",
    cause: /PersistentVolumeClaim \S+\/web-scratch: StorageClass gold does not exist/,
    next: /create StorageClass gold/,
  },
  {
    name: "a volume of a pod's own, whose claim is somebody else's",
    objects: [
      aClaim("web-scratch"),
      withSpec(aPod("web"), {
        volumes: [{ name: "scratch", ephemeral: { volumeClaimTemplate: { spec: aClaim("x").spec } } }],
      }),
    ],
    target: "pod/web",
    cause: /web-scratch.* was not created for/,
    next: /web-scratch|kubectl/,
  },
  {
    name: "a pod for a claim that is on its way out",
    objects: [aClaim("data"), aPod("first", undefined, { "/data": "data" })],
    breaks: async (world) => {
      await untilReady(world, "first");
      const { kubectl, namespace } = world;
      await kubectl.run("delete", "pvc", "data", "-n", namespace, "--wait=false");
      await apply(world, aPod("web", undefined, { "/data": "data" }));
    },
    target: "pod/web",
    cause: /PersistentVolumeClaim \S+\/data: is being deleted/,
    next: /kubectl delete pod -n \S+ first/,
  },
  {
    name: "a namespace that does not end",
    objects: [],
    breaks: async ({ kubectl, namespace }) => {
      const within = `${namespace}-inner`;
      await kubectl.run("create", "namespace", within);
      const kept = {
        ...aClaim("data"),
        metadata: { name: "data", namespace: within, finalizers: ["example.com/holds-it"] },
      };
      await kubectl.apply(JSON.stringify(kept));
      await kubectl.run("delete", "namespace", within, "--wait=false");
    },
    target: async ({ namespace }) => `namespace/${namespace}-inner`,
    cause: /is being deleted.*|example\.com\/holds-it/,
    next: /kubectl/,
  },
  {
    name: "a volume whose file system is full",
    objects: [
      aClaim("data"),
      aPod("web", "head -c 100000000 /dev/zero >/data/file; exec sleep 100000", { "/data": "data" }),
    ],
    target: "pod/web",
    cause: /PersistentVolumeClaim \S+\/data: its file system is full/,
    next: /make it larger than 64Mi: kubectl patch pvc -n \S+ data/,
  },
  {
    name: "a volume whose file system is damaged",
    objects: [aClaim("data"), aPod("first", "date >/data/file", { "/data": "data" }, "Never")],
    breaks: async (world) => {
      const { kubectl, namespace } = world;
      await kubectl.run(
        "wait",
        "--for=jsonpath={.status.phase}=Succeeded",
        "pod/first",
        "-n",
        namespace,
        "--timeout=120s",
      );
      await kubectl.run("delete", "pod", "first", "-n", namespace);
      const volume = await volumeOf(world);
      await kubectl.run(
        "wait",
        "--for=jsonpath={.status.state}=detached",
        `volumes.storage.mooring.dev/${volume}`,
        "--timeout=120s",
      );
      const file = await open(imageOf(volume, world), "r+");
      await file.write(Buffer.alloc(8 << 20, 0x5a), 0, 8 << 20, 0);
      await file.close();
      await apply(world, aPod("web", undefined, { "/data": "data" }));
    },
    target: "pod/web",
    cause:
      /Pod \S+\/web: Pending: FailedMount: .*was formatted with ext4, but now has data of an unknown format; it is not formatted again \(repair it by hand \(fsck\), or restore/,
    next: /put right what it says, and it starts by itself: kubectl describe pod -n \S+ web/,
  },
  {
    name: "a CronJob whose jobs fail",
    objects: [
      {
        ...{ apiVersion: "batch/v1", kind: "CronJob", metadata: { name: "nightly" } },
        spec: {
          schedule: "* * * * *",
          jobTemplate: { spec: (aJob("x", "exit 4") as { spec: object }).spec },
        },
      },
    ],
    target: "cronjob/nightly",
    cause: /CronJob \S+\/nightly[\s\S]*container main: ended with exit code 4/,
    next: /kubectl logs -n \S+ nightly-\S+ -c main/,
    doctor: /Job \S+\/nightly-\d+ +fail +container main: ended with exit code 4/,
  },
  {
    name: "a pool that is deleted while it has volumes",
    objects: [aClass("doomed", { parameters: { pool: "doomed" } })],
    breaks: async (world) => {
      const { up, kubectl } = world;
      const spec = { type: "directory", nodeID: "node-a", path: join(up.stateDir, "pools", "doomed") };
      const pool = {
        apiVersion: "storage.mooring.dev/v1alpha1",
        kind: "Pool",
        metadata: { name: "doomed" },
        spec,
      };
      await kubectl.apply(JSON.stringify(pool));
      await kubectl.run("wait", "--for=jsonpath={.status.ready}=true", "pool/doomed", "--timeout=120s");
      await apply(world, aClaim("data", { className: "doomed" }));
      await untilBound(world);
      await kubectl.run("delete", "pool", "doomed", "--wait=false");
    },
    target: "pool/doomed",
    cause:
      /Pool doomed: is being deleted .*; (it )?has 1 volume and 0 snapshots, and goes when they have gone/,
    next: /kubectl delete pvc -n \S+ data/,
  },
];
