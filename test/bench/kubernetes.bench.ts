import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
  CSINodes,
  createInformer,
  defined,
  type KubeObject,
  KubeVolumeAttachments,
  Nodes,
  type ObjectStore,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Resource,
  StorageClasses,
  VolumeGroupSnapshotClasses,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
  VolumeSnapshotClasses,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { STORAGE_PROVISIONER } from "../../packages/sidecars/src/common/names.ts";
import {
  csiNode,
  DRIVER,
  groupClass,
  node,
  persistentVolume,
  snapshotClass,
  storageClass,
} from "../../packages/sidecars/src/testing/objects.ts";
import { buildPrograms, programFolder } from "../kubernetes/real/support/components.mjs";
import { type BenchCluster, startCluster } from "./kubernetes/cluster.ts";
import { isWithoutSidecars, MOORING, type Side, sidecars, withoutSidecars } from "./kubernetes/sides.ts";
import { load, type Measurement, SHORT, sized } from "./measure.ts";

/** How many of each there are. */
interface Sizes {
  claims: number;
  snapshots: number;
  groups: number;
}

const CLAIMS = Number(process.env["MOORING_BENCH_CLAIMS"] ?? sized(1_000, 20));
const SIZES: Sizes = {
  claims: CLAIMS,
  snapshots: sized(Math.ceil(CLAIMS / 5), 5),
  groups: sized(Math.ceil(CLAIMS / 50), 2),
};
/** With the limits that the sidecars have by default, all of it would be half an hour. */
const FEWER: Sizes = SHORT
  ? SIZES
  : {
      claims: Math.ceil(CLAIMS / 10),
      snapshots: Math.ceil(CLAIMS / 50),
      groups: Math.ceil(CLAIMS / 500),
    };
/** What a large cluster has: nothing of it is to be done, and all of it is read. */
const LARGE = { volumes: sized(20_000, 40), nodes: sized(200, 4) };
/** Seconds after a start in a large cluster in which the control plane is at work, and MiB that it takes then. */
const LARGE_LIMITS = { started: 10, resident: 300 };
/** Members of a group. */
const MEMBERS = 8;
const IN_FLIGHT = 32;
const NAMESPACE = "default";
const PROGRAMS = ["etcd", "kube-apiserver"];

/** The programs of a real API server take minutes to build. */
export function missing(): string | undefined {
  const absent = PROGRAMS.filter((name) => !existsSync(join(programFolder(), name)));
  if (absent.length === 0) return undefined;
  return `${absent.join(" and ")} not in ${programFolder()}; "npm run bench kubernetes" builds them`;
}

/** Objects of a kind, and what shows that they are as the bench wants them. */
interface Phase<T extends KubeObject, Result extends KubeObject> {
  name: string;
  resource: Resource<T>;
  objects: readonly KubeObject[];
  /** Objects of this kind show which are done. */
  results: Resource<Result>;
  /** The name of the one that is done by this; undefined: none. */
  doneBy(result: Result): string | undefined;
  /** What of it is not the control plane's to do, and has to be over before all is counted. */
  settled?(store: ObjectStore): Promise<void>;
  /** How many writes one may cost. */
  limit: number;
  /** MiB that the control plane may have at rest afterwards. */
  resident?: number;
}

/** Makes the objects, waits until all are done and no client sends requests any more, and says what that cost. */
async function measure<T extends KubeObject, Result extends KubeObject>(
  cluster: BenchCluster,
  { name, resource, objects, results, doneBy, settled, ...most }: Phase<T, Result>,
): Promise<Measurement[]> {
  const { store, audit } = cluster;
  const names = new Set(objects.map(({ metadata }) => metadata.name));
  // Lists again and again would be much of what the server does.
  const watching = new AbortController();
  const watched = createInformer(store, results, {});
  const watch = watched.run(watching.signal);
  watched.onChange((_, result) => names.delete((result && doneBy(result)) ?? ""));
  await watched.synced(watching.signal);
  await quiet(cluster);
  await audit.take();
  const [before, from] = [await cluster.processor(), performance.now()];
  await load(objects.length, IN_FLIGHT, (index) => store.create(resource, objects[index] as T));
  await eventually(name, async () => names.size === 0, { everyMs: 20, withinMs: 600_000 });
  const seconds = (performance.now() - from) / 1000;
  watching.abort();
  await watch;
  await settled?.(store);
  await quiet(cluster);
  return figures(cluster, { ...most, reads: 0, name, count: objects.length, seconds, before });
}

/** Objects that are to go, with what was made for them. */
interface Deletion<T extends KubeObject> {
  name: string;
  resource: Resource<T>;
  /** When none of these is left, it is done. */
  last: Resource;
}

/** Deletes all objects of a kind, waits until the last of what was made for them is gone, and says what that cost. */
async function measureDeletion<T extends KubeObject>(
  cluster: BenchCluster,
  { name, resource, last }: Deletion<T>,
): Promise<Measurement[]> {
  const { store, audit } = cluster;
  await quiet(cluster);
  await audit.take();
  const { items } = await store.list(resource);
  const [before, from] = [await cluster.processor(), performance.now()];
  await load(items.length, IN_FLIGHT, async (index) => {
    await store.delete(resource, objectKey((items[index] as T).metadata));
  });
  await eventually(name, async () => (await store.list(last)).items.length === 0, {
    ...{ everyMs: 200, withinMs: 600_000 },
  });
  const seconds = (performance.now() - from) / 1000;
  await quiet(cluster);
  return figures(cluster, { name, count: items.length, seconds, before });
}

const objectKey = ({ name, namespace }: KubeObject["metadata"]) => ({ name, ...defined({ namespace }) });

interface Work {
  name: string;
  count: number;
  /** Of writes; absent: none was set. */
  limit?: number;
  /** The same of reads. A deletion asks the server itself before something is given up for good. */
  reads?: number;
  /** How many MiB there may be at rest afterwards; absent as well. */
  resident?: number;
  seconds: number;
  /** Processor time of the controller before it. */
  before: number;
}

async function figures(cluster: BenchCluster, work: Work): Promise<Measurement[]> {
  const { name, count, limit, reads, resident, seconds, before } = work;
  const [requests, after] = [await cluster.audit.take(), await cluster.processor()];
  process.stderr.write(`  ${count} ${name}: ${requests.table}\n`);
  const row = (what: string, unit: string, value: number): Measurement => ({
    ...{ name: `${count} ${name}: ${what}`, unit, value },
  });
  return [
    row("elapsed time of each", "ms", (1000 * seconds) / count),
    { ...row("writes of each", "", requests.writes / count), ...defined({ limit }) },
    { ...row("reads of each", "", requests.reads / count), ...defined({ limit: reads }) },
    row("processor time of each", "ms", (1000 * (after - before)) / count),
    row("resident", "MiB", await cluster.resident()),
    ...(resident === undefined
      ? []
      : [{ ...row("resident at rest", "MiB", await atRest(cluster)), limit: resident }]),
  ];
}

/** A process collects its garbage some seconds after it has become idle. */
const REST_MS = sized(15_000, 0);

async function atRest(cluster: BenchCluster): Promise<number> {
  await delay(REST_MS);
  return cluster.resident();
}

/** Until nothing more is asked for two seconds. */
async function quiet({ audit }: BenchCluster): Promise<void> {
  let [last, since] = ["", Date.now()];
  await eventually(
    "no more requests",
    async () => {
      const { table } = await audit.read();
      if (table !== last) [last, since] = [table, Date.now()];
      return Date.now() - since > 2_000;
    },
    { everyMs: 200 },
  );
}

const claims = ({ claims: length }: Sizes): KubeObject[] =>
  Array.from({ length }, (_, index) => ({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      name: `claim-${index}`,
      namespace: NAMESPACE,
      labels: { group: `${Math.floor(index / MEMBERS)}` },
      // As kube-controller-manager writes it before a provisioner sees to the claim.
      annotations: { [STORAGE_PROVISIONER]: DRIVER },
    },
    spec: {
      storageClassName: "fast",
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "1Gi" } },
    },
  }));

async function attachments(store: ObjectStore): Promise<KubeObject[]> {
  const { items } = await store.list(PersistentVolumeClaims, { namespace: NAMESPACE });
  return items.map(({ spec }, index) => ({
    apiVersion: "storage.k8s.io/v1",
    kind: "VolumeAttachment",
    metadata: { name: `attachment-${index}` },
    spec: { attacher: DRIVER, nodeName: "n0", source: { persistentVolumeName: spec?.volumeName ?? "" } },
  }));
}

const snapshots = ({ claims: among, snapshots: length }: Sizes): KubeObject[] =>
  Array.from({ length }, (_, index) => ({
    apiVersion: "snapshot.storage.k8s.io/v1",
    kind: "VolumeSnapshot",
    metadata: { name: `snapshot-${index}`, namespace: NAMESPACE },
    spec: {
      volumeSnapshotClassName: "snaps",
      source: { persistentVolumeClaimName: `claim-${index % among}` },
    },
  }));

const groups = ({ groups: length }: Sizes): KubeObject[] =>
  Array.from({ length }, (_, index) => ({
    apiVersion: "groupsnapshot.storage.k8s.io/v1",
    kind: "VolumeGroupSnapshot",
    metadata: { name: `group-${index}`, namespace: NAMESPACE },
    spec: {
      volumeGroupSnapshotClassName: "groups",
      source: { selector: { matchLabels: { group: String(index) } } },
    },
  }));

/** What is there before. A server gives UIDs itself. */
async function prepare(store: ObjectStore): Promise<void> {
  await store.create(StorageClasses, storageClass());
  await store.create(VolumeSnapshotClasses, snapshotClass());
  await store.create(VolumeGroupSnapshotClasses, groupClass());
  await store.create(Nodes, node("n0"));
  await store.create(CSINodes, csiNode("n0", []));
}

/** The same with volumes that others have declared, on nodes of which each is a place of its own. */
async function prepareLarge(store: ObjectStore): Promise<void> {
  await prepare(store);
  const create = <T extends KubeObject>(resource: Resource<T>, count: number, one: (name: string) => T) =>
    load(count, IN_FLIGHT, (index) => store.create(resource, one(`there-${index}`)));
  await create(Nodes, LARGE.nodes, (name) => node(name, { rack: name }));
  await create(CSINodes, LARGE.nodes, (name) => csiNode(name, ["rack"]));
  await create(PersistentVolumes, LARGE.volumes, (name) => {
    const { metadata: _, ...volume } = persistentVolume(name, { persistentVolumeReclaimPolicy: "Retain" });
    return { ...volume, metadata: { name } };
  });
}

/**
 * The control plane around a driver that takes no time, on a real API server: what it asks for, and what it uses. The same in a
 * large cluster; and beside it, one after the other, the sidecars of the Kubernetes project, where they are there.
 */
export async function run(): Promise<Measurement[]> {
  const bin = await buildPrograms(PROGRAMS);
  // The binder's and the driver's part is played by this process, which is slower at first: not for one side only.
  process.stderr.write("  a first round, of which no figure counts:\n");
  await runSide(bin, MOORING, FEWER);
  const small = await runSide(bin, MOORING, SIZES);
  const ours = [...small, ...(await runLarge(bin, small))];
  if (isWithoutSidecars()) {
    process.stderr.write(`${withoutSidecars()}\n`);
    return ours;
  }
  const beside = [];
  for (const [side, sizes, most] of [
    [sidecars(true), SIZES, TUNED],
    [sidecars(false), FEWER, DEFAULTS],
  ] as const) {
    const theirs = await runSide(bin, side, sizes);
    beside.push(...compare(small, { theirs, baselineName: side.name, most }));
  }
  return [...ours, ...beside];
}

/** Which figures may be how many times another's. */
type Most = readonly (readonly [figures: RegExp, times: number])[];

const TUNED: Most = [
  [/^\d+ (claims|attachments): elapsed/, 1],
  [/^\d+ claims: processor/, 1.5],
];
const DEFAULTS: Most = [[/^\d+ (claims|attachments): elapsed/, 1 / 5]];
const IN_SMALL: Most = [[/: (writes|processor)/, 1.1]];

/** The same figures with what another needed for the same work. */
function compare(
  ours: readonly Measurement[],
  { theirs, baselineName, most }: { theirs: readonly Measurement[]; baselineName: string; most: Most },
): Measurement[] {
  return ours.map(({ name, unit, value }, index) => {
    const baseline = theirs[index]?.value ?? Number.NaN;
    const times = most.find(([figures]) => figures.test(name))?.[1];
    const limit = times === undefined ? undefined : Math.round(100 * times * baseline) / 100;
    return { ...{ name, unit, value, baselineName, baseline }, ...defined({ limit }) };
  });
}

/** What was made goes in the reverse order. Members of groups go with these. */
async function deletions(cluster: BenchCluster): Promise<Measurement[]> {
  return [
    ...(await measureDeletion(cluster, {
      ...{ name: `deleted groups of ${MEMBERS}`, resource: VolumeGroupSnapshots },
      last: VolumeGroupSnapshotContents,
    })),
    ...(await measureDeletion(cluster, {
      ...{ name: "deleted snapshots", resource: VolumeSnapshots, last: VolumeSnapshotContents },
    })),
    ...(await measureDeletion(cluster, {
      ...{ name: "deleted attachments", resource: KubeVolumeAttachments, last: KubeVolumeAttachments },
    })),
    ...(await measureDeletion(cluster, {
      ...{ name: "deleted claims", resource: PersistentVolumeClaims, last: PersistentVolumes },
    })),
  ];
}

async function allBound(store: ObjectStore): Promise<void> {
  await eventually(
    "all claims to be bound",
    async () => (await store.list(PersistentVolumeClaims)).items.every(({ spec }) => spec?.volumeName),
    { everyMs: 1_000, withinMs: 600_000 },
  );
}

async function claimsAndAttachments(cluster: BenchCluster, sizes: Sizes): Promise<Measurement[]> {
  return [
    ...(await measure(cluster, {
      ...{ name: "claims", resource: PersistentVolumeClaims, objects: claims(sizes) },
      ...{ limit: 3, resident: 130, results: PersistentVolumes },
      // The binder's part is the bench's, which is slower than the control plane.
      doneBy: ({ spec }) => spec?.claimRef?.name,
      settled: allBound,
    })),
    ...(await measure(cluster, {
      ...{ name: "attachments", resource: KubeVolumeAttachments, limit: 3 },
      ...{ objects: await attachments(cluster.store), results: KubeVolumeAttachments },
      doneBy: ({ metadata, status }) => (status?.attached === true ? metadata.name : undefined),
    })),
  ];
}

/** What a control plane takes in a large cluster (see LARGE), beside the figures of a small one. */
async function runLarge(bin: string, small: readonly Measurement[]): Promise<Measurement[]> {
  const there = `beside ${LARGE.volumes} volumes on ${LARGE.nodes} nodes`;
  process.stderr.write(`  mooring ${there}:\n`);
  const cluster = await startCluster(bin, MOORING, prepareLarge);
  try {
    const row = (what: string, unit: string, value: number, limit: number): Measurement => ({
      ...{ name: `${there}: ${what}`, unit, value, limit },
    });
    return [
      row("at work after", "s", cluster.started, LARGE_LIMITS.started),
      row("resident at first", "MiB", await cluster.resident(), LARGE_LIMITS.resident),
      ...compare(await claimsAndAttachments(cluster, SIZES), {
        ...{ theirs: small, baselineName: "mooring in a small cluster", most: IN_SMALL },
      }).map((measured) => ({ ...measured, name: `${there}: ${measured.name}` })),
    ];
  } finally {
    await cluster.end();
  }
}

async function runSide(bin: string, side: Side, sizes: Sizes): Promise<Measurement[]> {
  process.stderr.write(`  ${side.name}:\n`);
  const cluster = await startCluster(bin, side, prepare);
  try {
    return [
      ...(await claimsAndAttachments(cluster, sizes)),
      ...(await measure(cluster, {
        ...{ name: "snapshots", resource: VolumeSnapshots, objects: snapshots(sizes), limit: 6 },
        results: VolumeSnapshots,
        doneBy: ({ metadata, status }) => (status?.readyToUse === true ? metadata.name : undefined),
      })),
      ...(await measure(cluster, {
        ...{ name: `groups of ${MEMBERS}`, resource: VolumeGroupSnapshots, objects: groups(sizes) },
        ...{ limit: 3 + 4 * MEMBERS, results: VolumeGroupSnapshots },
        doneBy: ({ metadata, status }) => (status?.readyToUse === true ? metadata.name : undefined),
      })),
      ...(await deletions(cluster)),
    ];
  } finally {
    await cluster.end();
  }
}
