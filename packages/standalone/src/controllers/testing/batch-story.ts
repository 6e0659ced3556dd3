// One life of the controllers of Jobs, CronJobs and quotas, for a test that kills them: sets the scene when it is not
// there yet, plays the kubelet, works until everything has come to its end, and exits with 0. Argument: the state folder.
import assert from "node:assert/strict";
import { setMaxListeners } from "node:events";
import {
  ConfigMaps,
  type CronJob,
  CronJobs,
  delay,
  getIfAny,
  isConflict,
  isNotFound,
  type Job,
  Jobs,
  LocalStore,
  mutate,
  type PersistentVolumeClaim,
  PersistentVolumeClaims,
  type Pod,
  Pods,
  ResourceQuotas,
  ResourceRegistry,
  silentLogger,
} from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { ensureDefaultNamespaces } from "../../apiserver/server/default-namespaces.ts";
import { registerBuiltins } from "../../builtin/index.ts";
import { createKindRegistry } from "../../kinds/kind-info.ts";
import { openClusterView } from "../cluster-view.ts";
import { startCronJobController } from "../cron-job/index.ts";
import { startGarbageCollector } from "../garbage-collector/index.ts";
import { startJobController } from "../job/index.ts";
import { startResourceQuotaController } from "../resource-quota/index.ts";

const [path = ""] = process.argv.slice(2);
const registry = new ResourceRegistry();
const kinds = createKindRegistry();
registerBuiltins(registry, kinds);
const store = await LocalStore.open({ path, registry, requireNamespaces: true });
const stopping = new AbortController();
const { signal } = stopping;
setMaxListeners(0, signal);
await ensureDefaultNamespaces(store);

const at = (name: string) => ({ namespace: "default", name });
const template = { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "host" }] } };
const jobWith = (name: string, spec: Partial<NonNullable<Job["spec"]>>): Job => ({
  ...{ apiVersion: "batch/v1", kind: "Job", metadata: at(name) },
  spec: { template, ...spec },
});

/** The last object of the scene proves that all of it was made. */
async function setScene(): Promise<void> {
  await store.create(Jobs, jobWith("work", { completions: 4, parallelism: 2 }));
  await store.create(Jobs, jobWith("parts", { completions: 3, parallelism: 2, completionMode: "Indexed" }));
  await store.create(Jobs, jobWith("failing", { backoffLimit: 1 }));
  await store.create(Jobs, jobWith("short", { ttlSecondsAfterFinished: 0 }));
  await store.create(Jobs, jobWith("resting", { parallelism: 2 }));
  await store.create<CronJob>(CronJobs, {
    ...{ apiVersion: "batch/v1", kind: "CronJob", metadata: at("cron") },
    spec: { schedule: "* * * * *", successfulJobsHistoryLimit: 0, jobTemplate: { spec: { template } } },
  });
  await store.create(ResourceQuotas, {
    ...{ apiVersion: "v1", kind: "ResourceQuota", metadata: at("disk") },
    spec: { hard: { "requests.storage": "5Gi" } },
  });
  await store.create<PersistentVolumeClaim>(PersistentVolumeClaims, {
    ...{ apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: at("data") },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "2Gi" } } },
  });
  await store.create(ConfigMaps, { apiVersion: "v1", kind: "ConfigMap", metadata: at("scene-is-set") });
}

const podsOf = async (name: string): Promise<Pod[]> =>
  (await store.list(Pods, { namespace: "default", labelSelector: `job-name=${name}` })).items;

/** Pods end as the names of their Jobs have it; those of one run until they are deleted. */
async function playKubelet(): Promise<void> {
  while (!signal.aborted) {
    for (const { metadata, status } of (await store.list(Pods)).items) {
      const job = metadata.labels?.["job-name"];
      if (job === "resting" || status?.phase !== "Pending" || metadata.deletionTimestamp !== undefined)
        continue;
      const phase = job === "failing" ? "Failed" : "Succeeded";
      const change = (pod: Pod) => ({ ...pod, status: { ...pod.status, phase } });
      await mutate(store, Pods, at(metadata.name), { change, subresource: "status" }).catch((error) => {
        if (!isNotFound(error) && !isConflict(error)) throw error;
      });
    }
    await delay(20, signal).catch(() => {});
  }
}

/** When both of its pods are there, it is suspended. */
async function suspendResting(): Promise<void> {
  const suspended = async () => (await store.get(Jobs, at("resting"))).spec?.suspend === true;
  await eventually("two pods", async () => (await suspended()) || (await podsOf("resting")).length === 2);
  await mutate(store, Jobs, at("resting"), ({ spec }) => {
    if (spec !== undefined) spec.suspend = true;
  });
}

const isTrue = (job: Job | undefined, type: string) =>
  job?.status?.conditions?.some((each) => each.type === type && each.status === "True") === true;
const statusOf = async (name: string) => (await store.get(Jobs, at(name))).status;

async function hasEnded(): Promise<boolean> {
  const [work, parts, failing, resting] = await Promise.all(
    ["work", "parts", "failing", "resting"].map((name) => store.get(Jobs, at(name))),
  );
  const quota = await store.get(ResourceQuotas, at("disk"));
  const cron = await store.get(CronJobs, at("cron"));
  const jobs = (await store.list(Jobs)).items;
  const made = jobs.filter(({ metadata }) => metadata.name.startsWith("cron-"));
  const ends = [
    ...[isTrue(work, "Complete"), isTrue(parts, "Complete"), isTrue(failing, "Failed")],
    ...[resting?.status?.failed === 2, (await podsOf("resting")).length === 0],
    ...[!jobs.some(({ metadata }) => metadata.name === "short"), (await podsOf("short")).length === 0],
    quota.status?.used?.["requests.storage"] === "2Gi",
    ...[cron.status?.lastSuccessfulTime !== undefined, !made.some((job) => isTrue(job, "Complete"))],
  ];
  return ends.every(Boolean);
}

if ((await getIfAny(store, ConfigMaps, at("scene-is-set"))) === undefined) await setScene();
const view = await openClusterView(store, { logger: silentLogger, signal });
const common = { store, kinds, view, logger: silentLogger, signal };
const parts = [
  view,
  await startGarbageCollector(common),
  await startJobController({ ...common, backoff: { baseMs: 1, maxMs: 1 } }),
  // Two minutes on, so that something is due.
  await startCronJobController({ ...common, clock: () => Date.now() + 120_000 }),
  await startResourceQuotaController(common),
];
const kubelet = playKubelet();
await suspendResting();
await eventually("everything has come to its end", hasEnded);
const [work, indexed, failing, resting] = await Promise.all(
  ["work", "parts", "failing", "resting"].map(statusOf),
);
assert.deepEqual([work?.succeeded, work?.failed, (await podsOf("work")).length], [4, undefined, 4]);
assert.deepEqual([indexed?.completedIndexes, (await podsOf("parts")).length], ["0-2", 3]);
assert.deepEqual([failing?.failed, (await podsOf("failing")).length], [2, 2]);
assert.deepEqual([resting?.failed, (await podsOf("resting")).length], [2, 0]);
stopping.abort();
await Promise.all([kubelet, ...parts.map(({ done }) => done)]);
await store.close();
