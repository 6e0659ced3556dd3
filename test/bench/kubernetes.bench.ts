import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  CSINodes,
  type KubeObject,
  KubeVolumeAttachments,
  Nodes,
  type ObjectStore,
  PersistentVolumeClaims,
  type Resource,
  StorageClasses,
  VolumeGroupSnapshotClasses,
  VolumeGroupSnapshots,
  VolumeSnapshotClasses,
  VolumeSnapshots,
} from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import {
  csiNode,
  DRIVER,
  groupClass,
  node,
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

/** Objects of a kind, and when all of them are as the bench wants them. */
interface Phase<T extends KubeObject> {
  name: string;
  resource: Resource<T>;
  objects: readonly KubeObject[];
  isDone(object: T): boolean;
  /** How many writes one may cost. */
  limit: number;
}

/** Makes the objects, waits until all are done and no client sends requests any more, and says what that cost. */
async function measure<T extends KubeObject>(
  cluster: BenchCluster,
  { name, resource, objects, isDone, limit }: Phase<T>,
): Promise<Measurement[]> {
  const { store, audit } = cluster;
  await quiet(cluster);
  await audit.take();
  const [before, from] = [await cluster.processor(), performance.now()];
  const names = new Set(objects.map(({ metadata }) => metadata.name));
  await load(objects.length, IN_FLIGHT, (index) => store.create(resource, objects[index] as T));
  await eventually(
    name,
    async () => {
      const done = (await store.list(resource)).items.filter((each) => isDone(each));
      return done.filter(({ metadata }) => names.has(metadata.name)).length === objects.length;
    },
    { everyMs: 200, withinMs: 600_000 },
  );
  const seconds = (performance.now() - from) / 1000;
  await quiet(cluster);
  return figures(cluster, { name, count: objects.length, limit, seconds, before });
}

interface Work {
  name: string;
  count: number;
  limit: number;
  seconds: number;
  /** Processor time of the controller before it. */
  before: number;
}

async function figures(cluster: BenchCluster, work: Work): Promise<Measurement[]> {
  const { name, count, limit, seconds, before } = work;
  const [requests, after] = [await cluster.audit.take(), await cluster.processor()];
  process.stderr.write(`  ${count} ${name}: ${requests.table}\n`);
  const row = (what: string, unit: string, value: number): Measurement => ({
    ...{ name: `${count} ${name}: ${what}`, unit, value },
  });
  return [
    row("elapsed time of each", "ms", (1000 * seconds) / count),
    { ...row("writes of each", "", requests.writes / count), limit },
    { ...row("reads of each", "", requests.reads / count), limit: 0 },
    row("processor time of each", "ms", (1000 * (after - before)) / count),
    row("resident", "MiB", await cluster.resident()),
  ];
}

/** Until nothing more is asked for two seconds. */
async function quiet({ audit }: BenchCluster): Promise<void> {
  let [last, since] = ["", Date.now()];
  await eventually(
    "no more requests",
    async () => {
      const { table } = await audit.look();
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

/**
 * The control plane around a driver that takes no time, on a real API server: what it asks for, and what it uses. Beside
 * it, one after the other, the sidecars of the Kubernetes project, where they are there.
 */
export async function run(): Promise<Measurement[]> {
  const bin = await buildPrograms(PROGRAMS);
  const ours = await runSide(bin, MOORING, SIZES);
  if (isWithoutSidecars()) {
    process.stderr.write(`${withoutSidecars()}\n`);
    return ours;
  }
  const beside = [];
  for (const [side, sizes] of [
    [sidecars(true), SIZES],
    [sidecars(false), FEWER],
  ] as const)
    beside.push(...compare(ours, await runSide(bin, side, sizes), side.name));
  return [...ours, ...beside];
}

/** The same figures with what another needed for the same work. */
function compare(
  ours: readonly Measurement[],
  theirs: readonly Measurement[],
  baselineName: string,
): Measurement[] {
  return ours.map(({ name, unit, value }, index) => ({
    ...{ name, unit, value, baselineName, baseline: theirs[index]?.value ?? Number.NaN },
  }));
}

async function runSide(bin: string, side: Side, sizes: Sizes): Promise<Measurement[]> {
  process.stderr.write(`  ${side.name}:\n`);
  const cluster = await startCluster(bin, side);
  const { store } = cluster;
  try {
    await prepare(store);
    return [
      ...(await measure(cluster, {
        ...{ name: "claims", resource: PersistentVolumeClaims, objects: claims(sizes), limit: 3 },
        isDone: ({ spec }) => Boolean(spec?.volumeName),
      })),
      ...(await measure(cluster, {
        ...{ name: "attachments", resource: KubeVolumeAttachments, limit: 3 },
        objects: await attachments(store),
        isDone: ({ status }) => status?.attached === true,
      })),
      ...(await measure(cluster, {
        ...{ name: "snapshots", resource: VolumeSnapshots, objects: snapshots(sizes), limit: 6 },
        isDone: ({ status }) => status?.readyToUse === true,
      })),
      ...(await measure(cluster, {
        ...{ name: `groups of ${MEMBERS}`, resource: VolumeGroupSnapshots, objects: groups(sizes) },
        limit: 3 + 4 * MEMBERS,
        isDone: ({ status }) => status?.readyToUse === true,
      })),
    ];
  } finally {
    await cluster.end();
  }
}
