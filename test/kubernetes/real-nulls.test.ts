import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  apiVersionOf,
  CSIDrivers,
  CSINodes,
  CSIStorageCapacities,
  Events,
  type KubeObject,
  KubeVolumeAttachments,
  Leases,
  Nodes,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Resource,
  RestStore,
  StorageClasses,
  VolumeSnapshots,
} from "@mooring/store";
import { thorough } from "@mooring/store/testing";
import { TokenReviews } from "../../packages/sidecars/src/snapshot-metadata/kinds.ts";
import { programFolder } from "./real/support/components.mjs";
import { startControlPlane } from "./real/support/control-plane.mjs";

const CRDS = fileURLToPath(new URL("../../deploy/crds", import.meta.url));
const SERVER = ["etcd", "kube-apiserver"];
const absent = SERVER.filter((name) => !existsSync(join(programFolder(), name)));
const options = {
  ...thorough(),
  skip:
    thorough().skip ||
    (absent.length > 0 &&
      `${absent.join(" and ")} not in ${programFolder()}; "npm run test:kubernetes" builds them`),
};

let folder: string;
let plane: Awaited<ReturnType<typeof startControlPlane>> | undefined;
let store: RestStore;
before(async () => {
  if (options.skip !== false) return;
  folder = await mkdtemp(join(tmpdir(), "mooring-real-nulls-"));
  plane = await startControlPlane({
    ...{ folder, bin: programFolder(), only: SERVER, address: undefined, controllers: [] },
  });
  await plane.kubectl("apply", "--server-side", "-f", CRDS);
  await plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s");
  store = await RestStore.fromKubeconfig(plane.admin);
});
after(async () => {
  store?.close();
  await plane?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/** Paths of what is null: `.spec.drivers[].topologyKeys`. */
function nulls(value: unknown, at = ""): string[] {
  if (value === null) return [at];
  if (Array.isArray(value)) return value.flatMap((item) => nulls(item, `${at}[]`));
  if (typeof value !== "object") return [];
  return Object.entries(value).flatMap(([field, item]) => nulls(item, `${at}.${field}`));
}

const source = { apiGroup: null, kind: "PersistentVolumeClaim", name: "other" };
const csi = { driver: "a.example.com", volumeHandle: "h", fsType: null, volumeAttributes: null };
const resources = { requests: { storage: "1Gi" }, limits: null };
const driver = { name: "a.example.com", nodeID: "x", topologyKeys: null, allocatable: null };

/** Objects with nulls where clients that are written in Go have nil, and what the server writes as null of each. */
const OBJECTS: readonly [title: string, Resource, Record<string, unknown>, written: string[]][] = [
  ["a Node", Nodes as Resource, { spec: { taints: null }, status: null }, []],
  ["a CSINode without drivers", CSINodes as Resource, { spec: { drivers: null } }, [".spec.drivers"]],
  [
    "a CSINode with a driver",
    CSINodes as Resource,
    { spec: { drivers: [driver] } },
    [".spec.drivers[].topologyKeys"],
  ],
  [
    "a StorageClass",
    StorageClasses as Resource,
    { provisioner: "a.example.com", parameters: null, mountOptions: null },
    [],
  ],
  [
    "a PersistentVolume",
    PersistentVolumes as Resource,
    { spec: { accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" }, csi, claimRef: null } },
    [],
  ],
  [
    "a claim from a claim",
    PersistentVolumeClaims as Resource,
    { spec: { accessModes: ["ReadWriteOnce"], resources, dataSource: source, selector: null }, status: null },
    [".spec.dataSource.apiGroup", ".spec.dataSourceRef.apiGroup"],
  ],
  [
    "a VolumeAttachment",
    KubeVolumeAttachments as Resource,
    {
      spec: {
        attacher: "a.example.com",
        nodeName: "n",
        source: { persistentVolumeName: "n", inlineVolumeSpec: null },
      },
    },
    [],
  ],
  ["a CSIDriver", CSIDrivers as Resource, { spec: { volumeLifecycleModes: null, tokenRequests: null } }, []],
  [
    "a CSIStorageCapacity",
    CSIStorageCapacities as Resource,
    { storageClassName: "n", nodeTopology: null, capacity: null },
    [],
  ],
  [
    "an Event",
    Events as Resource,
    { involvedObject: { kind: "Pod", namespace: "default", name: "x" }, series: null, source: null },
    [".firstTimestamp", ".lastTimestamp", ".eventTime"],
  ],
  ["a Lease without spec", Leases as Resource, { spec: null }, []],
  [
    "a VolumeSnapshot",
    VolumeSnapshots as Resource,
    {
      spec: {
        source: { persistentVolumeClaimName: "x", volumeSnapshotContentName: null },
        volumeSnapshotClassName: null,
      },
      status: null,
    },
    [],
  ],
];

for (const [title, resource, body, written] of OBJECTS) {
  test(`${title} of a real API server has no null for any controller`, options, async () => {
    const name = "n";
    const namespace = resource.namespaced ? { namespace: "default" } : {};
    const metadata = { name, ...namespace, labels: null, annotations: null, finalizers: null };
    const head = { apiVersion: apiVersionOf(resource), kind: resource.kind };
    const created = await store.create(resource, { ...head, metadata, ...body } as unknown as KubeObject);
    const key = { name, ...namespace };
    const prefix = resource.group === "" ? "/api/v1" : `/apis/${resource.group}/${resource.version}`;
    const within = resource.namespaced ? "/namespaces/default" : "";
    const path = `${prefix}${within}/${resource.plural}/${name}`;
    const onTheWire = nulls(JSON.parse(await store.getText(path)));
    // Else nothing was shown.
    for (const field of written) assert.ok(onTheWire.includes(field), `${field}: ${onTheWire.join()}`);
    const seen: unknown[] = [created, await store.get(resource, key), ...(await store.list(resource)).items];
    const watching = new AbortController();
    const follow = { sendInitialEvents: true, allowWatchBookmarks: true, signal: watching.signal };
    for await (const event of store.watch(resource, follow)) {
      seen.push(event.object);
      if (event.type === "BOOKMARK") watching.abort();
    }
    const annotations = { a: "b", nothing: null };
    seen.push(
      await store.patch(resource, key, { type: "merge", body: { metadata: { annotations } } }),
      await store.update(resource, await store.get(resource, key)),
      await store.delete(resource, key),
    );
    assert.ok(seen.length >= 7, `${seen.length} objects`);
    assert.deepEqual(nulls(seen), []);
  });
}

test("what a real API server says of a token has no null", options, async () => {
  const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", metadata: {} as never };
  const spec = { token: "of nobody", audiences: null as never };
  const { status } = await store.create(TokenReviews, { ...review, spec });
  assert.deepEqual(nulls(status), []);
  assert.notEqual(status?.authenticated, true);
});
