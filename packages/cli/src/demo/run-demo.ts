import { GroupSnapshots, Snapshots, Volumes } from "@mooring/engine";
import {
  describeBytes,
  KubeVolumeAttachments,
  Namespaces,
  orAborted,
  PersistentVolumeClaims,
  PersistentVolumes,
  Pods,
  type Resource,
  RestStore,
  StorageClasses,
  VolumeGroupSnapshotContents,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import { type Daemon, startDaemon } from "./daemon.ts";
import { cleanUpGroup, groupPart } from "./group-part.ts";
import { images, remains } from "./machine.ts";
import * as manifests from "./manifests.ts";
import { lastAcknowledged, podLog } from "./pod-log.ts";
import type { Progress } from "./progress.ts";
import { until, untilGone, untilObject } from "./wait.ts";
import { untilRunning, type World } from "./world.ts";

const namespace = manifests.NAMESPACE;

/** Last row number that the writer knows is durable. */
const writerLog = ({ store }: World): Promise<number> => lastAcknowledged(store, "writer");

async function startWriter(world: World): Promise<void> {
  const { store, progress } = world;
  await progress.step("claim, volume, attach, mkfs, mount, process", async () => {
    await store.create(Namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    await store.create(StorageClasses, manifests.storageClass);
    await store.create(PersistentVolumeClaims, manifests.claim(manifests.LIVE, "512Mi"));
    await store.create(Pods, manifests.writer);
    await untilRunning(world, "writer");
    return { detail: "Pod writer is Running on claim ledger", value: undefined };
  });
  await progress.step("a SQLite database under constant writes", async () => {
    const rows = await until("2,000 acknowledged rows", async () => {
      const last = await writerLog(world);
      return last >= 2000 ? last : undefined;
    });
    return { detail: `${rows} rows acknowledged so far`, value: undefined };
  });
}

/** Makes the snapshot while the writer writes; returns what had been acknowledged before. */
async function takeSnapshot(world: World): Promise<number> {
  return world.progress.step("snapshot while writing", async () => {
    const before = await writerLog(world);
    await world.store.create(VolumeSnapshots, manifests.snapshot);
    const key = { namespace, name: manifests.SNAPSHOT };
    const ready = await untilObject(
      world.store,
      VolumeSnapshots,
      key,
      (item) => item.status?.readyToUse === true,
    );
    return {
      detail: `restore size ${ready.status?.restoreSize}; ${before} rows acknowledged before`,
      value: before,
    };
  });
}

interface Audit {
  integrity: string;
  rows: number;
  last: number;
  broken: number;
  differs: number;
  liveLast: number;
  restoredBytes: number;
}

async function restore(world: World): Promise<Audit> {
  return world.progress.step("restore to a larger claim, audit in a second Pod", async () => {
    const { store } = world;
    await store.create(
      PersistentVolumeClaims,
      manifests.claim(manifests.RESTORED, "1Gi", manifests.SNAPSHOT),
    );
    await store.create(Pods, manifests.auditor);
    await untilObject(store, Pods, { namespace, name: "auditor" }, (pod) => {
      const { phase } = pod.status ?? {};
      return phase === "Succeeded" || phase === "Failed";
    });
    const lines = (await podLog(store, "auditor")).trimEnd().split("\n");
    const [json = "", size = "0"] = lines.slice(lines.findIndex((line) => line.startsWith("{")));
    if (!json.startsWith("{")) throw new Error(`the auditor printed: ${lines.join(" ")}`);
    const audit: Audit = { ...JSON.parse(json), restoredBytes: Number(size) };
    return { detail: `${audit.rows} rows restored, live is at ${audit.liveLast}`, value: audit };
  });
}

function proveAudit(progress: Progress, audit: Audit, acknowledged: number): void {
  progress.prove(
    "the restored database is intact",
    audit.integrity === "ok",
    `integrity_check: ${audit.integrity}`,
  );
  progress.prove(
    "no row is torn, missing or out of order",
    audit.broken === 0 && audit.rows === audit.last + 1,
    `${audit.rows} rows, ${audit.broken} broken`,
  );
  progress.prove("every restored row equals the live one", audit.differs === 0, `${audit.differs} differ`);
  progress.prove(
    "nothing acknowledged before the snapshot is lost",
    audit.last >= acknowledged,
    `${acknowledged} acknowledged, ${audit.last} restored`,
  );
  progress.prove(
    "the writer went on meanwhile",
    audit.liveLast > audit.last,
    `${audit.liveLast - audit.last} rows since the snapshot`,
  );
  progress.prove(
    "the restored file system has grown",
    audit.restoredBytes > 900 * 2 ** 20,
    describeBytes(audit.restoredBytes),
  );
}

async function expand(world: World): Promise<void> {
  const { store, progress } = world;
  const key = { namespace, name: manifests.LIVE };
  const before = await writerLog(world);
  await progress.step("expand the live claim while writing", async () => {
    const body = { spec: { resources: { requests: { storage: "1Gi" } } } };
    await store.patch(PersistentVolumeClaims, key, { type: "merge", body });
    const grown = await untilObject(
      store,
      PersistentVolumeClaims,
      key,
      (item) => item.status?.capacity?.storage === "1Gi",
    );
    return { detail: `capacity ${grown.status?.capacity?.storage}`, value: undefined };
  });
  const after = await until("the writer to go on", async () => {
    const last = await writerLog(world);
    return last > before ? last : undefined;
  });
  progress.prove(
    "the writer never stopped for the expansion",
    after > before,
    `${after - before} rows meanwhile`,
  );
}

async function cleanUp(world: World): Promise<void> {
  const { store, progress } = world;
  await progress.step("delete pods, snapshots, claims, namespace", async () => {
    await cleanUpGroup(world);
    for (const name of ["auditor", "writer"]) await store.delete(Pods, { namespace, name });
    for (const name of ["auditor", "writer"]) await untilGone(store, Pods, { namespace, name });
    await store.delete(VolumeSnapshots, { namespace, name: manifests.SNAPSHOT });
    for (const name of [manifests.RESTORED, manifests.LIVE])
      await store.delete(PersistentVolumeClaims, { namespace, name });
    await store.delete(Namespaces, { name: namespace });
    await untilGone(store, Namespaces, { name: namespace });
    await store.delete(StorageClasses, { name: manifests.CLASS });
    for (const resource of LEFT) {
      await until(`all ${resource.plural} to be gone`, async () =>
        (await store.list(resource)).items.length === 0 ? true : undefined,
      );
    }
    return { detail: "all gone", value: undefined };
  });
}

const LEFT: readonly Resource[] = [
  PersistentVolumes,
  KubeVolumeAttachments,
  VolumeSnapshotContents,
  VolumeGroupSnapshotContents,
  Volumes,
  Snapshots,
  GroupSnapshots,
];

async function proveNothingLeft({ store, daemon, progress }: World): Promise<void> {
  const counts = await Promise.all(LEFT.map(async (resource) => (await store.list(resource)).items.length));
  const objects = counts.reduce((sum, count) => sum + count, 0);
  progress.prove("no object is left", objects === 0, `${objects} in ${LEFT.length} kinds`);
  const files = await images(daemon.stateDir);
  progress.prove("no image is left in the pool", files.length === 0, files.join(", ") || "none");
  await progress.step("stop", async () => {
    const exit = await daemon.stop();
    return { detail: `exit code ${exit}`, value: undefined };
  });
  const left = await remains(daemon.stateDir);
  progress.prove("no mount is left", left.mounts.length === 0, left.mounts.join(", ") || "none");
  progress.prove("no loop device is left", left.loops.length === 0, left.loops.join(", ") || "none");
  progress.prove("no process is left", left.processes.length === 0, left.processes.join(", ") || "none");
}

export interface DemoOptions {
  pool: string;
  /** Leave everything running when all is shown. */
  keep: boolean;
  /** The operator wants the demo to end before that. */
  signal: AbortSignal;
}

/** The main job from nothing to proof. Leaves nothing behind unless `keep`, and nothing at all when it is interrupted. */
export async function runDemo(progress: Progress, { pool, keep, signal }: DemoOptions): Promise<Daemon> {
  const daemon = await progress.step("start: API server, controllers, driver, agent", async () => {
    const started = await startDaemon(pool, signal);
    return { detail: `${pool} pool in ${started.stateDir}`, value: started };
  });
  let finished = false;
  try {
    await orAborted(show(daemon, progress, keep), signal);
    finished = true;
  } finally {
    if (!keep || signal.aborted) {
      if (!finished) await daemon.stop();
      await daemon.erase();
    }
  }
  return daemon;
}

async function show(daemon: Daemon, progress: Progress, keep: boolean): Promise<void> {
  const world = { daemon, progress, store: await RestStore.fromKubeconfig(daemon.kubeconfig) };
  await startWriter(world);
  const acknowledged = await takeSnapshot(world);
  proveAudit(progress, await restore(world), acknowledged);
  await expand(world);
  await groupPart(world);
  if (keep) return;
  await cleanUp(world);
  await proveNothingLeft(world);
}
