import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import {
  ConfigMaps,
  CSIDrivers,
  CSIStorageCapacities,
  defined,
  Events,
  getIfAny,
  type KubeObject,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Resource,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import { eventually, thorough } from "@mooring/store/testing";
import { type Cluster, DRIVER, missing, NODES, type NodeName, startCluster } from "./cluster.ts";

const NAMESPACE = "default";
const SELECTED_NODE = "volume.kubernetes.io/selected-node";
const skip = thorough().skip || (missing() ?? false);

const OWN_NODE = (node: NodeName) => [
  ...["--node-deployment", "--node-name", node],
  ...["--node-deployment-base-delay", "1s", "--node-deployment-max-delay", "4s"],
];

/** What users do, and what a scheduler does for them. */
class Users {
  readonly #cluster: Cluster;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  async claim(
    name: string,
    { node, dataSource }: { node?: NodeName; dataSource?: object } = {},
  ): Promise<string> {
    const annotations = node === undefined ? {} : { [SELECTED_NODE]: node };
    await this.#cluster.store.create(PersistentVolumeClaims, {
      ...{ apiVersion: "v1", kind: "PersistentVolumeClaim" },
      metadata: { name, namespace: NAMESPACE, annotations },
      spec: {
        ...{ storageClassName: node === undefined ? "fast" : "late", accessModes: ["ReadWriteOnce"] },
        resources: { requests: { storage: "16Mi" } },
        ...defined({ dataSource }),
      },
    } as KubeObject);
    return name;
  }

  claims(prefix: string, count: number): Promise<string[]> {
    return Promise.all(Array.from({ length: count }, (_, index) => this.claim(`${prefix}-${index}`)));
  }

  async snapshot(name: string, claim: string): Promise<void> {
    await this.#cluster.store.create(VolumeSnapshots, {
      ...{ apiVersion: "snapshot.storage.k8s.io/v1", kind: "VolumeSnapshot" },
      metadata: { name, namespace: NAMESPACE },
      spec: { volumeSnapshotClassName: "snaps", source: { persistentVolumeClaimName: claim } },
    } as KubeObject);
    await eventually(`${name} to be ready`, async () => {
      const found = await this.#cluster.store.get(VolumeSnapshots, { name, namespace: NAMESPACE });
      return found.status?.readyToUse === true;
    });
  }

  /** The node that the claim's volume is on, once it is bound; the driver there is the one that has it. */
  async placeOf(name: string): Promise<NodeName> {
    const { store, dataOn } = this.#cluster;
    const volume = await eventually(
      `${name} to be bound`,
      async () => {
        const { spec, status } = await store.get(PersistentVolumeClaims, { name, namespace: NAMESPACE });
        return status?.phase === "Bound" && store.get(PersistentVolumes, { name: spec?.volumeName ?? "" });
      },
      { lastSeen: async () => (await store.list(Events)).items.map(({ message }) => message) },
    );
    const [term] = (volume || undefined)?.spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [];
    const place = term?.matchExpressions?.flatMap(({ values = [] }) => values).join() as NodeName;
    const handle = (volume || undefined)?.spec?.csi?.volumeHandle ?? "";
    for (const node of NODES)
      assert.equal((await dataOn(node)).includes(handle), node === place, `${name} on ${node}`);
    return place;
  }

  async remove(resource: Resource, names: readonly string[]): Promise<void> {
    for (const name of names) await this.#cluster.store.delete(resource, { name, namespace: NAMESPACE });
  }

  async nothingIsLeft(): Promise<void> {
    const { store, dataOn } = this.#cluster;
    const kinds: Resource[] = [
      PersistentVolumes,
      VolumeSnapshotContents,
      VolumeSnapshots,
      PersistentVolumeClaims,
    ];
    for (const kind of kinds)
      await eventually(
        `no ${kind.plural} to be left`,
        async () => (await store.list(kind)).items.length === 0,
      );
    for (const node of NODES) assert.deepEqual(await dataOn(node), [], node);
    await eventually("no call to be open", async () => {
      const selected = { namespace: "kube-system", labelSelector: "storage.mooring.dev/record" };
      return (await store.list(ConfigMaps, selected)).items.length === 0;
    });
  }
}

async function start(
  t: TestContext,
  room: Record<NodeName, string>,
): Promise<{ cluster: Cluster; users: Users }> {
  const cluster = await startCluster(room);
  t.after(() => cluster.end());
  return { cluster, users: new Users(cluster) };
}

test("on two nodes each driver of somebody else's has a `mooring controller` of its own, one of which is killed at work", {
  skip,
}, async (t) => {
  // On the first node there is room for four volumes.
  const { cluster, users } = await start(t, { n1: "64Mi", n2: "10Gi" });
  const { store } = cluster;
  const first = await cluster.mooring("n1", ...OWN_NODE("n1"));
  await cluster.mooring("n2", ...OWN_NODE("n2"));
  const capacities = async () =>
    (await store.list(CSIStorageCapacities)).items
      .map(({ capacity, storageClassName, nodeTopology, metadata }) =>
        [
          ...[storageClassName, Object.values(nodeTopology?.matchLabels ?? {}).join(), capacity],
          ...[metadata.labels?.["csi.storage.k8s.io/managed-by"], metadata.ownerReferences?.[0]?.name],
        ].join(" "),
      )
      .sort();
  await eventually("each node's capacity to be published", async () => (await capacities()).length === 2);
  assert.deepEqual(await capacities(), [
    "late n1 64Mi external-provisioner-n1 n1",
    "late n2 10Gi external-provisioner-n2 n2",
  ]);

  const placed = await Promise.all(
    NODES.map(async (node) => [node, await users.claim(`placed-${node}`, { node })] as const),
  );
  const claims = await users.claims("claim", 20);
  for (const [node, name] of placed) assert.equal(await users.placeOf(name), node);
  await first.end("SIGKILL");
  await cluster.mooring("n1", ...OWN_NODE("n1"));
  for (const name of claims) {
    const place = await users.placeOf(name);
    const { metadata } = await store.get(PersistentVolumeClaims, { name, namespace: NAMESPACE });
    assert.equal(metadata.annotations?.[SELECTED_NODE], place, name);
  }
  assert.ok((await cluster.dataOn("n1")).length <= 4);

  await users.snapshot("snap", "placed-n2");
  const contents = (await store.list(VolumeSnapshotContents)).items;
  assert.deepEqual(
    contents.map(({ metadata }) => metadata.labels),
    [{ "snapshot.storage.kubernetes.io/managed-by": "n2" }],
  );
  const dataSource = { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "snap" };
  await users.claim("restored", { dataSource });
  assert.equal(await users.placeOf("restored"), "n2");

  const body = { spec: { resources: { requests: { storage: "32Mi" } } } };
  const key = { name: "placed-n2", namespace: NAMESPACE };
  const { spec } = await store.patch(PersistentVolumeClaims, key, { type: "merge", body });
  await eventually("it to have grown", async () => {
    const volume = await store.get(PersistentVolumes, { name: spec?.volumeName ?? "" });
    return volume.spec?.capacity?.storage === "32Mi";
  });
  await users.remove(VolumeSnapshots, ["snap"]);
  await users.remove(PersistentVolumeClaims, ["restored", ...claims, ...placed.map(([, name]) => name)]);
  await users.nothingIsLeft();
});

test("beside snapshot-controller and a node with csi-provisioner and csi-snapshotter: each node its own, with one set of labels", {
  skip,
}, async (t) => {
  // On each node there is room for ten volumes, so neither can have them all.
  const { cluster, users } = await start(t, { n1: "160Mi", n2: "160Mi" });
  cluster.sidecar("snapshot-controller");
  cluster.sidecar("csi-provisioner", "n2");
  cluster.sidecar("csi-snapshotter", "n2");
  await cluster.mooring("n1", ...OWN_NODE("n1"), "--controllers", "provision,resize,snapshot-content");
  const claims = await users.claims("claim", 16);
  const places = new Set<NodeName>();
  for (const name of claims) places.add(await users.placeOf(name));
  assert.deepEqual([...places].sort(), ["n1", "n2"], "both nodes have taken some");
  await users.remove(PersistentVolumeClaims, claims);
  await users.nothingIsLeft();
  for (const node of NODES) {
    await users.claim(`of-${node}`, { node });
    await users.placeOf(`of-${node}`);
    await users.snapshot(`snap-${node}`, `of-${node}`);
    const dataSource = { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: `snap-${node}` };
    await users.claim(`restored-${node}`, { node, dataSource });
    assert.equal(await users.placeOf(`restored-${node}`), node);
  }
  await users.remove(
    VolumeSnapshots,
    NODES.map((node) => `snap-${node}`),
  );
  const made = NODES.flatMap((node) => [`of-${node}`, `restored-${node}`]);
  await users.remove(PersistentVolumeClaims, made);
  await users.nothingIsLeft();
});

test("a CSIDriver object is made as it is declared, put right, and what no server lets be changed is reported", {
  skip,
}, async (t) => {
  const { cluster } = await start(t, { n1: "1Gi", n2: "1Gi" });
  const { store } = cluster;
  const specOf = async () => (await getIfAny(store, CSIDrivers, { name: DRIVER }))?.spec;
  const change = (spec: object) =>
    store.patch(CSIDrivers, { name: DRIVER }, { type: "merge", body: { spec } });
  const declared = [
    ...["attachRequired=false", "fsGroupPolicy=File", "requiresRepublish=true", "podInfoOnMount=true"],
    ...[
      'tokenRequests=[{"audience":"vault","expirationSeconds":3600}]',
      "nodeAllocatableUpdatePeriodSeconds=60",
    ],
    ...["volumeLifecycleModes=Persistent,Ephemeral", "seLinuxMount=true", "storageCapacity=true"],
  ].flatMap((field) => ["--csi-driver", field]);
  const wanted = {
    ...{ attachRequired: false, fsGroupPolicy: "File", requiresRepublish: true, podInfoOnMount: true },
    ...{ tokenRequests: [{ audience: "vault", expirationSeconds: 3600 }], seLinuxMount: true },
    ...{ nodeAllocatableUpdatePeriodSeconds: 60, storageCapacity: true },
    volumeLifecycleModes: ["Persistent", "Ephemeral"],
  };
  const isAsDeclared = async () => {
    const spec = await specOf();
    return Object.entries(wanted).every(
      ([field, value]) => JSON.stringify(spec?.[field as keyof typeof spec]) === JSON.stringify(value),
    );
  };
  // As an older version of its manifests made it.
  await store.create(CSIDrivers, {
    ...{ apiVersion: "storage.k8s.io/v1", kind: "CSIDriver", metadata: { name: DRIVER } },
    spec: { attachRequired: true, fsGroupPolicy: "None" },
  } as KubeObject & { spec: object });
  await cluster.mooring("n1", ...declared);
  await eventually("what cannot be changed to be reported", async () => {
    const reported = (await store.list(Events)).items.filter(
      ({ reason }) => reason === "CSIDriverNotAsDeclared",
    );
    return reported.some(({ message = "" }) =>
      /attachRequired is true .*kubectl delete csidriver/.test(message),
    );
  });
  assert.deepEqual((await specOf())?.tokenRequests, wanted.tokenRequests, "what can be changed is");
  await store.delete(CSIDrivers, { name: DRIVER });
  await eventually("it to be made anew", isAsDeclared, { lastSeen: specOf });
  await change({
    fsGroupPolicy: "ReadWriteOnceWithFSType",
    requiresRepublish: false,
    tokenRequests: [],
    seLinuxMount: false,
  });
  await eventually("it to be put right", isAsDeclared, { lastSeen: specOf });
});
