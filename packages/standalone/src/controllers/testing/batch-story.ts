// One life of the controllers of Jobs, CronJobs and quotas, for a test that kills them: sets the scene when it is not
// there yet, plays the kubelet, works until everything has come to its end, and exits with 0. Argument: the state folder.
import assert from "node:assert/strict";
import {
  type CronJob,
  CronJobs,
  delay,
  isConflict,
  isNotFound,
  type Job,
  Jobs,
  mutate,
  type PersistentVolumeClaim,
  PersistentVolumeClaims,
  type Pod,
  Pods,
  ResourceQuotas,
} from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { openClusterView } from "../cluster-view.ts";
import { startCronJobController } from "../cron-job/index.ts";
import { startGarbageCollector } from "../garbage-collector/index.ts";
import { startJobController } from "../job/index.ts";
import { startResourceQuotaController } from "../resource-quota/index.ts";
import { openWorkloadsView } from "../workloads/view.ts";
import { beginStoryLife } from "./story-life.ts";

const life = await beginStoryLife();
const { store, signal } = life;

const at = (name: string) => ({ namespace: "default", name });
const template = { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "host" }] } };
const jobWith = (name: string, spec: Partial<NonNullable<Job["spec"]>>): Job => ({
  ...{ apiVersion: "batch/v1", kind: "Job", metadata: at(name) },
  spec: { template, ...spec },
});

const cronJob = (name: string, suspend: boolean): CronJob => ({
  ...{ apiVersion: "batch/v1", kind: "CronJob", metadata: at(name) },
  spec: {
    schedule: "* * * * *",
    suspend,
    successfulJobsHistoryLimit: 0,
    jobTemplate: { spec: { template } },
  },
});

/** What the Job `finder` adopts: two pods that no object controls, and that it need not make. */
const foundling = (name: string): Pod => ({
  ...{ apiVersion: "v1", kind: "Pod", metadata: { ...at(name), labels: { found: "yes" } } },
  spec: template.spec,
});

async function setScene(): Promise<void> {
  for (const name of ["found-a", "found-b"]) await store.create(Pods, foundling(name));
  const selector = { matchLabels: { found: "yes" } };
  const metadata = { labels: selector.matchLabels };
  await store.create(
    Jobs,
    jobWith("finder", {
      ...{ completions: 2, parallelism: 2, manualSelector: true, selector },
      template: { ...template, metadata },
    }),
  );
  await store.create(Jobs, jobWith("work", { completions: 4, parallelism: 2 }));
  await store.create(Jobs, jobWith("parts", { completions: 3, parallelism: 2, completionMode: "Indexed" }));
  await store.create(Jobs, jobWith("failing", { backoffLimit: 1 }));
  await store.create(Jobs, jobWith("short", { ttlSecondsAfterFinished: 0 }));
  await store.create(Jobs, jobWith("resting", { parallelism: 2 }));
  await store.create(CronJobs, cronJob("cron", false));
  // So late that it is reported.
  const late = await store.create(CronJobs, cronJob("late", true));
  const lastScheduleTime = "2020-01-01T00:00:00Z";
  await store.updateStatus(CronJobs, { ...late, status: { ...late.status, lastScheduleTime } });
  await mutate(store, CronJobs, at("late"), ({ spec }) => void (spec && delete spec.suspend));
  await store.create(ResourceQuotas, {
    ...{ apiVersion: "v1", kind: "ResourceQuota", metadata: at("disk") },
    spec: { hard: { "requests.storage": "5Gi" } },
  });
  await store.create<PersistentVolumeClaim>(PersistentVolumeClaims, {
    ...{ apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: at("data") },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "2Gi" } } },
  });
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

const foundPods = async (): Promise<Pod[]> =>
  (await store.list(Pods, { namespace: "default", labelSelector: "found=yes" })).items;

const isTrue = (job: Job | undefined, type: string) =>
  job?.status?.conditions?.some((each) => each.type === type && each.status === "True") === true;
const statusOf = async (name: string) => (await store.get(Jobs, at(name))).status;

async function hasEnded(): Promise<boolean> {
  const [work, parts, failing, resting, finder] = await Promise.all(
    ["work", "parts", "failing", "resting", "finder"].map((name) => store.get(Jobs, at(name))),
  );
  const quota = await store.get(ResourceQuotas, at("disk"));
  const [cron, late] = await Promise.all(["cron", "late"].map((name) => store.get(CronJobs, at(name))));
  const jobs = (await store.list(Jobs)).items;
  const made = jobs.filter(({ metadata }) => /^(cron|late)-/.test(metadata.name));
  const ends = [
    ...[
      isTrue(work, "Complete"),
      isTrue(parts, "Complete"),
      isTrue(failing, "Failed"),
      isTrue(finder, "Complete"),
    ],
    ...[resting?.status?.failed === 2, (await podsOf("resting")).length === 0],
    ...[!jobs.some(({ metadata }) => metadata.name === "short"), (await podsOf("short")).length === 0],
    quota.status?.used?.["requests.storage"] === "2Gi",
    ...[cron, late].map((each) => each?.status?.lastSuccessfulTime !== undefined),
    !made.some((job) => isTrue(job, "Complete")),
  ];
  return ends.every(Boolean);
}

await life.once("scene", setScene);
const view = await openClusterView(store, life);
const workloads = await openWorkloadsView(store, life);
const common = { ...life, view, workloads };
const parts = [
  ...[view, workloads],
  await startGarbageCollector(common),
  startJobController({ ...common, backoff: { baseMs: 1, maxMs: 1 } }),
  // Two minutes on, so that something is due.
  await startCronJobController({ ...common, clock: () => Date.now() + 120_000 }),
  await startResourceQuotaController(common),
];
const kubelet = playKubelet();
await suspendResting();
await eventually("everything has come to its end", hasEnded);
const [work, indexed, failing, resting, finder] = await Promise.all(
  ["work", "parts", "failing", "resting", "finder"].map(statusOf),
);
assert.deepEqual([work?.succeeded, work?.failed, (await podsOf("work")).length], [4, undefined, 4]);
assert.deepEqual([indexed?.completedIndexes, (await podsOf("parts")).length], ["0-2", 3]);
assert.deepEqual([failing?.failed, (await podsOf("failing")).length], [2, 2]);
assert.deepEqual([resting?.failed, (await podsOf("resting")).length], [2, 0]);
const found = (await foundPods()).map(({ metadata }) => metadata.name);
assert.deepEqual([finder?.succeeded, found.sort()], [2, ["found-a", "found-b"]]);
await life.end([...parts, { done: kubelet }]);
