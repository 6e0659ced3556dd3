import assert from "node:assert/strict";
import { test } from "node:test";
import { type CronJob, CronJobs, Jobs, mutate, silentLogger } from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { mustRun, programs, runner } from "../../apiserver/testing/kubectl.ts";
import { startTestServer } from "../../apiserver/testing/test-server.ts";
import { reasonsOf } from "../testing/batch-cluster.ts";
import { openWorkloadsView } from "../workloads/view.ts";
import { startCronJobController } from "./index.ts";

const CRON_JOB = `
apiVersion: batch/v1
kind: CronJob
metadata: {name: every, namespace: default}
spec:
  schedule: "* * * * *"
  timeZone: UTC
  concurrencyPolicy: Replace
  jobTemplate:
    metadata: {labels: {from: every}}
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{name: main, image: host, command: ["true"]}]
`;

test("a CronJob makes a Job each minute, keeps the last ones, and kubectl makes one of it by hand", async (t) => {
  const server = await startTestServer();
  const { store, signal } = server;
  let now = Date.now();
  const common = { store, logger: silentLogger, signal };
  const workloads = await openWorkloadsView(store, common);
  const controller = await startCronJobController({ ...common, workloads, clock: () => now });
  t.after(async () => {
    await server.stop();
    await Promise.all([controller.done, workloads.done]);
  });
  const { kubectl: program } = await programs();
  const kubectl = mustRun(runner(program, { folder: server.folder, kubeconfig: server.api.kubeconfig }));
  await kubectl(["apply", "-f", "-"], { input: CRON_JOB });
  const key = { namespace: "default", name: "every" };
  const jobs = async () => (await store.list(Jobs, { labelSelector: "from=every" })).items;
  const cronJob = () => store.get(CronJobs, key);
  // From when it was made: of the minutes up to then none is due, and the clock may have come to the next one meanwhile.
  now = Date.parse((await cronJob()).metadata.creationTimestamp ?? "");
  /** A minute later; a change of the object asks for it now instead of by the timer. */
  async function nextMinute(): Promise<CronJob> {
    now += 60_000;
    await mutate(store, CronJobs, key, ({ metadata }) => {
      metadata.annotations = { ...metadata.annotations, at: String(now) };
    });
    const time = `${new Date(Math.floor(now / 60_000) * 60_000).toISOString().slice(0, 19)}Z`;
    await eventually("the next Job", async () => (await cronJob()).status?.lastScheduleTime === time);
    return cronJob();
  }
  const first = await nextMinute();
  const [only] = await jobs();
  assert.equal(only?.metadata.name, `every-${Math.floor(now / 60_000)}`);
  assert.equal(first.status?.active?.[0]?.uid, only?.metadata.uid);
  const second = await nextMinute();
  assert.equal(second.status?.active?.length, 1, "the first was replaced");
  assert.deepEqual(
    (await jobs()).map(({ metadata }) => metadata.uid),
    second.status?.active?.map(({ uid }) => uid),
  );
  for (const { metadata } of await jobs()) {
    const conditions = [{ type: "Complete", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" }];
    await mutate(
      store,
      Jobs,
      { namespace: "default", name: metadata.name },
      {
        change: (job) => ({
          ...job,
          status: { ...job.status, conditions, completionTime: "2026-01-01T00:00:00Z" },
        }),
        subresource: "status",
      },
    );
  }
  await eventually(
    "the success is noted",
    async () => (await cronJob()).status?.lastSuccessfulTime !== undefined,
  );
  await kubectl(["create", "job", "--from=cronjob/every", "by-hand"]);
  const byHand = await store.get(Jobs, { namespace: "default", name: "by-hand" });
  assert.equal(byHand.metadata.annotations?.["cronjob.kubernetes.io/instantiate"], "manual");
  assert.match(await kubectl(["get", "cronjob", "every"]), /every +\* \* \* \* \* +UTC +False +0 /);
  await eventually("the events", async () => {
    const reasons = await reasonsOf(store, first);
    return ["SuccessfulCreate", "SuccessfulDelete", "SawCompletedJob"].every((each) =>
      reasons.includes(each),
    );
  });
  await kubectl(["delete", "cronjob", "every"]);
  await eventually("its Jobs go with it", async () => (await store.list(Jobs)).items.length === 0);
});
