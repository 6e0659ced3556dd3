import { pvOf, untilBound } from "./bound.ts";
import { aClaim, aClass, aPod, aSnapshot, withFinalizer, withSpec } from "./objects.ts";
import type { Situation } from "./situation.ts";

export const CLAIMS: readonly Situation[] = [
  {
    name: "a class that nobody has made",
    objects: [aClaim("data", { className: "gold" })],
    target: "pvc/data",
    cause: /StorageClass gold does not exist/,
    next: /create StorageClass gold/,
    doctor: /PersistentVolumeClaim \S+\/data +fail +StorageClass gold/,
  },
  {
    name: "no class, and no volume that fits",
    objects: [aClaim("data", { className: "" })],
    target: "pvc/data",
    cause: /waits for a matching PersistentVolume|no persistent volumes available/,
    next: /create a PersistentVolume that fits/,
  },
  {
    name: "a claim that no pod uses, of a class that waits for one",
    objects: [
      aClass("later-1", { volumeBindingMode: "WaitForFirstConsumer" }),
      aClaim("data", { className: "later-1" }),
    ],
    target: "pvc/data",
    cause: /binds when a Pod uses the claim, and none does yet/,
    next: /create a Pod that mounts it/,
  },
  {
    name: "a claim of a class that waits for a pod, whose pod finds no node",
    objects: [
      aClass("later-2", { volumeBindingMode: "WaitForFirstConsumer" }),
      aClaim("data", { className: "later-2" }),
      withSpec(aPod("web", undefined, { "/data": "data" }), { nodeSelector: { disk: "gold" } }),
    ],
    target: "pvc/data",
    cause: /binds once a Pod that uses it has a node: web/,
    next: /mooring why pod\/web -n/,
  },
  {
    name: "a provisioner that nobody runs",
    objects: [
      aClass("foreign", { provisioner: "example.com/nobody" }),
      aClaim("data", { className: "foreign" }),
    ],
    target: "pvc/data",
    cause: /example\.com\/nobody/,
    next: /no driver example\.com\/nobody is registered: install it/,
  },
  {
    name: "more than the pool has",
    objects: [aClaim("data", { size: "100Ti" })],
    target: "pvc/data",
    cause:
      /ProvisioningFailed: .*no pool has room for a volume of 100 TiB \(pool "default" has room for [\d.]+ GiB/,
    next: /make room in a pool, .* or create it again with a smaller size: kubectl delete pvc -n \S+ data/,
    doctor: /PersistentVolumeClaim \S+\/data +fail/,
  },
  {
    name: "a parameter that the driver does not know",
    objects: [aClass("typo", { parameters: { colour: "blue" } }), aClaim("data", { className: "typo" })],
    target: "pvc/data",
    cause: /ProvisioningFailed: .*colour/,
    next: /kubectl describe pvc/,
  },
  {
    name: "a file system that the driver does not make",
    objects: [
      aClass("ntfs", { parameters: { "csi.storage.k8s.io/fstype": "ntfs" } }),
      aClaim("data", { className: "ntfs" }),
    ],
    target: "pvc/data",
    cause: /ProvisioningFailed: .*ntfs/,
    next: /kubectl describe pvc/,
  },
  {
    name: "a class whose secret is missing",
    objects: [
      aClass("secretive", {
        parameters: {
          "csi.storage.k8s.io/provisioner-secret-name": "keys",
          "csi.storage.k8s.io/provisioner-secret-namespace": "default",
        },
      }),
      aClaim("data", { className: "secretive" }),
    ],
    target: "pvc/data",
    cause: /ProvisioningFailed: .*keys/,
    next: /kubectl describe pvc/,
  },
  {
    name: "a snapshot to restore that nobody has made",
    objects: [aClaim("data", { snapshot: "monday" })],
    target: "pvc/data",
    cause: /VolumeSnapshot \S+\/monday: does not exist/,
    next: /kubectl get volumesnapshots -n/,
  },
  {
    name: "a snapshot to restore whose claim has no class",
    objects: [
      aClaim("origin", { className: "gold" }),
      aSnapshot("monday", "origin"),
      aClaim("data", { snapshot: "monday" }),
    ],
    target: "pvc/data",
    cause: /PersistentVolumeClaim \S+\/origin: StorageClass gold does not exist/,
    next: /create StorageClass gold/,
  },
  {
    name: "a claim to clone that nobody has made",
    objects: [aClaim("data", { claim: "origin" })],
    target: "pvc/data",
    cause: /PersistentVolumeClaim \S+\/origin: does not exist/,
    next: /kubectl get pvc -n/,
  },
  {
    name: "a claim to clone that is not bound",
    objects: [aClaim("origin", { className: "gold" }), aClaim("data", { claim: "origin" })],
    target: "pvc/data",
    cause: /PersistentVolumeClaim \S+\/origin: StorageClass gold does not exist/,
    next: /create StorageClass gold/,
  },
  {
    name: "a claim of another namespace to clone, without a grant",
    objects: [
      withSpec(aClaim("data"), {
        dataSourceRef: { kind: "PersistentVolumeClaim", name: "origin", namespace: "elsewhere" },
      }),
    ],
    target: "pvc/data",
    cause: /PersistentVolumeClaim elsewhere\/origin: no ReferenceGrant in namespace elsewhere lets claims of/,
    next: /let the owner of namespace elsewhere create a ReferenceGrant there: from \{group: ""/,
  },
  {
    name: "a data source of a kind that nobody fills volumes from",
    objects: [
      withSpec(aClaim("data"), {
        dataSourceRef: { apiGroup: "hello.example.com", kind: "Hello", name: "world" },
      }),
    ],
    target: "pvc/data",
    cause: /Hello\.hello\.example\.com \S+\/world: no VolumePopulator is registered for its kind/,
    next: /install the populator of Hello\.hello\.example\.com/,
  },
  {
    name: "a restore that is smaller than its snapshot",
    objects: [
      aClaim("origin"),
      aSnapshot("monday", "origin"),
      aClaim("data", { snapshot: "monday", size: "32Mi" }),
    ],
    target: "pvc/data",
    cause: /ProvisioningFailed: .*(smaller|size|bytes)/,
    next: /kubectl describe pvc/,
  },
  {
    name: "a growth beyond the pool",
    objects: [aClaim("data")],
    breaks: async (world) => {
      const { kubectl, namespace } = world;
      await untilBound(world);
      const grow = JSON.stringify({ spec: { resources: { requests: { storage: "100Ti" } } } });
      await kubectl.run("patch", "pvc", "data", "-n", namespace, "--type", "merge", "-p", grow);
    },
    target: "pvc/data",
    cause: /PersistentVolumeClaim \S+\/data: \w+: .*no room for 100\.0 TiB more of volume/,
    next: /ask for what the driver can do|kubectl describe pvc/,
    doctor: /PersistentVolumeClaim \S+\/data +fail/,
  },
  {
    name: "a claim that is deleted while a pod uses it",
    objects: [aClaim("data"), aPod("web", undefined, { "/data": "data" })],
    breaks: async ({ kubectl, namespace }) => {
      await kubectl.run("wait", "--for=condition=Ready", "pod/web", "-n", namespace, "--timeout=120s");
      await kubectl.run("delete", "pvc", "data", "-n", namespace, "--wait=false");
    },
    target: "pvc/data",
    cause: /is being deleted, and used by Pod web: it goes when they have gone/,
    next: /kubectl delete pod -n \S+ web/,
  },
  {
    name: "a claim that somebody else keeps",
    objects: [withFinalizer(aClaim("data"))],
    breaks: async (world) => {
      const { kubectl, namespace } = world;
      await untilBound(world);
      await kubectl.run("delete", "pvc", "data", "-n", namespace, "--wait=false");
    },
    target: "pvc/data",
    cause: /is being deleted; held by .*example\.com\/holds-it/,
    next: /it ends when the controllers that set them have done their part/,
  },
  {
    name: "a claim whose volume is gone",
    objects: [aClaim("data")],
    breaks: async (world) => {
      const pv = await pvOf(world);
      await world.kubectl.run("delete", "pv", pv, "--wait=false");
      await world.kubectl.run("patch", "pv", pv, "--type", "merge", "-p", '{"metadata":{"finalizers":null}}');
    },
    target: "pvc/data",
    cause: /PersistentVolume pvc-\S+ does not exist/,
    next: /its data are lost unless/,
    doctor: /PersistentVolumeClaim \S+\/data +fail/,
  },
  {
    name: "a claim that names a volume that is none",
    objects: [withSpec(aClaim("data"), { volumeName: "chosen-by-hand" })],
    target: "pvc/data",
    cause: /names PersistentVolume chosen-by-hand, which does not exist/,
    next: /create PersistentVolume chosen-by-hand/,
  },
  {
    name: "a volume that is kept when its claim has gone",
    objects: [aClass("kept", { reclaimPolicy: "Retain" }), aClaim("data", { className: "kept" })],
    breaks: async (world) => {
      const { kubectl, namespace } = world;
      await untilBound(world);
      await kubectl.run("delete", "pvc", "data", "-n", namespace);
    },
    target: async ({ kubectl, namespace }) => {
      const path = `jsonpath={range .items[?(@.spec.claimRef.namespace=="${namespace}")]}{.metadata.name}{end}`;
      return `pv/${await kubectl.run("get", "pv", "-o", path)}`;
    },
    doctorIsSilent: "its class wants it kept",
    cause: /Released by claim \S+\/data, and kept \(Retain\)/,
    next: /to use its data again: kubectl patch pv/,
  },
  {
    name: "a volume that is deleted while its claim has it",
    objects: [aClaim("data")],
    breaks: async (world) => {
      const pv = await pvOf(world);
      await world.kubectl.run("delete", "pv", pv, "--wait=false");
    },
    target: async (world) => `pv/${await pvOf(world)}`,
    cause: /is being deleted; Bound to claim \S+\/data, held by/,
    next: /kubectl delete pvc -n \S+ data/,
  },
  {
    name: "labels that a volume is to have, of a class that makes volumes",
    objects: [withSpec(aClaim("data"), { selector: { matchLabels: { tier: "gold" } } })],
    target: "pvc/data",
    cause: /ProvisioningFailed: claim Selector is not supported/,
    next: /kubectl describe pvc/,
  },
  {
    name: "attributes of a class that nobody has made",
    objects: [withSpec(aClaim("data"), { volumeAttributesClassName: "gold" })],
    target: "pvc/data",
    cause: /ProvisioningFailed: VolumeAttributesClass gold does not exist/,
    next: /kubectl describe pvc/,
  },
  {
    name: "a copy of a claim of another namespace",
    objects: [
      withSpec(aClaim("data"), {
        dataSourceRef: { kind: "PersistentVolumeClaim", name: "origin", namespace: "default" },
      }),
    ],
    target: "pvc/data",
    cause: /no ReferenceGrant in namespace default lets claims of namespace \S+ refer to it/,
    next: /create a ReferenceGrant there/,
  },
];
