import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { isNotFound, type Job, Jobs, mutate, type Pod } from "@mooring/store";
import { everyday, thorough, eventually as until } from "@mooring/store/testing";
import { eventually, logOf, Pods } from "../../kubelet/testing/test-cluster.ts";
import { COMPLETION_INDEX, JOB_TRACKING } from "../job-pods.ts";
import { type BatchCluster, reasonsOf, startBatchCluster } from "../testing/batch-cluster.ts";

let cluster: BatchCluster;
before(async () => {
  cluster = await startBatchCluster();
});
after(() => cluster?.stop());

type Spec = NonNullable<Job["spec"]>;
const at = (name: string) => ({ namespace: "default", name });

function job(name: string, script: string, spec: Partial<Spec> = {}): Job {
  const containers = [{ name: "main", image: "host", command: ["sh", "-c", script] }];
  const template = { spec: { restartPolicy: "Never", terminationGracePeriodSeconds: 1, containers } };
  return { apiVersion: "batch/v1", kind: "Job", metadata: at(name), spec: { template, ...spec } };
}

const hasCondition = (type: string) => (found: Job | undefined) =>
  found?.status?.conditions?.some((each) => each.type === type && each.status === "True") === true;
const ended = (name: string, type: string) => eventually(cluster.store, Jobs, name, hasCondition(type));

async function podsOf(name: string): Promise<Pod[]> {
  const labelSelector = `job-name=${name}`;
  return (await cluster.store.list(Pods, { namespace: "default", labelSelector })).items;
}
const gone = (name: string) =>
  until(`${name} and its pods are gone`, async () => {
    const found = await cluster.store.get(Jobs, at(name)).catch((error) => {
      if (!isNotFound(error)) throw error;
    });
    return found === undefined && (await podsOf(name)).length === 0;
  });

test(
  "a Job of three pods, two at a time: kubectl waits for it, sees it, and deletes it with its pods",
  everyday(),
  async () => {
    const { store, kubectl } = cluster;
    await store.create(Jobs, job("three", "echo done", { completions: 3, parallelism: 2 }));
    await kubectl(["wait", "--for=condition=complete", "job/three", "--timeout=100s"]);
    const found = await store.get(Jobs, at("three"));
    assert.equal(found.status?.succeeded, 3);
    assert.equal(found.status?.failed, undefined);
    assert.equal(found.status?.uncountedTerminatedPods, undefined);
    assert.match(await kubectl(["get", "job", "three"]), /three +Complete +3\/3/);
    const pods = await podsOf("three");
    assert.equal(pods.length, 3);
    for (const { metadata, status } of pods) {
      assert.equal(status?.phase, "Succeeded");
      assert.deepEqual(metadata.finalizers ?? [], []);
      assert.equal(metadata.ownerReferences?.[0]?.uid, found.metadata.uid);
      assert.match(metadata.name, /^three-[a-z0-9]{5}$/);
    }
    await until(
      "the events",
      async () => (await reasonsOf(store, found)).join() === "Completed,SuccessfulCreate",
    );
    await kubectl(["delete", "job", "three", "--timeout=60s"]);
    await gone("three");
  },
);

test("an Indexed Job: each pod has its part, and kubectl deletes it while it runs", everyday(), async () => {
  const { store, kubectl } = cluster;
  const script =
    'echo "part $JOB_COMPLETION_INDEX on $HOSTNAME"; [ "$JOB_COMPLETION_INDEX" != 2 ] || sleep 1000';
  await store.create(
    Jobs,
    job("parts", script, { completions: 3, parallelism: 3, completionMode: "Indexed" }),
  );
  await eventually(store, Jobs, "parts", (found) => found?.status?.completedIndexes === "0,1");
  const pods = await podsOf("parts");
  for (const { metadata, spec } of pods) {
    const index = metadata.annotations?.[COMPLETION_INDEX];
    assert.equal(metadata.labels?.[COMPLETION_INDEX], index);
    assert.ok(metadata.name.startsWith(`parts-${index}-`));
    assert.equal(spec?.hostname, `parts-${index}`);
    if (index !== "2")
      assert.match(await logOf(cluster, metadata.name), new RegExp(`^part ${index} on parts-${index}\n`));
  }
  await kubectl(["delete", "job", "parts", "--timeout=60s"]);
  await gone("parts");
});

test("failures up to the limit, then the Job has failed", thorough(), async () => {
  const { store, run } = cluster;
  await store.create(Jobs, job("failing", "exit 3", { backoffLimit: 1 }));
  const found = await ended("failing", "Failed");
  assert.equal(found?.status?.failed, 2);
  const failed = found?.status?.conditions?.find(({ type }) => type === "Failed");
  assert.equal(failed?.reason, "BackoffLimitExceeded");
  const waited = await run(["wait", "--for=condition=complete", "job/failing", "--timeout=1s"]);
  assert.notEqual(waited.code, 0);
  await until("the event", async () =>
    (await reasonsOf(store, found as Job)).includes("BackoffLimitExceeded"),
  );
});

test("a deadline ends a Job and its pods", thorough(), async () => {
  await cluster.store.create(Jobs, job("late", "sleep 1000", { activeDeadlineSeconds: 2 }));
  const found = await ended("late", "Failed");
  assert.equal(found?.status?.conditions?.find(({ type }) => type === "Failed")?.reason, "DeadlineExceeded");
  assert.equal(found?.status?.active, undefined);
});

test("a suspended Job has no pods until it is resumed", thorough(), async () => {
  const { store } = cluster;
  const suspend = (value: boolean) =>
    mutate(store, Jobs, at("resting"), ({ spec }) => void Object.assign(spec ?? {}, { suspend: value }));
  await store.create(Jobs, job("resting", "sleep 1", { suspend: true }));
  await ended("resting", "Suspended");
  assert.deepEqual(await podsOf("resting"), []);
  await suspend(false);
  const found = await ended("resting", "Complete");
  const events = () => reasonsOf(store, found as Job);
  await until("the events", async () => /Resumed.*Suspended/.test((await events()).join()));
});

test("some time after its end a Job goes by itself", thorough(), async () => {
  await cluster.store.create(Jobs, job("short", "true", { ttlSecondsAfterFinished: 0 }));
  await gone("short");
});

test("a pod that somebody deletes while it runs is counted, and replaced", thorough(), async () => {
  const { store, kubectl } = cluster;
  await store.create(Jobs, job("robbed", "sleep 5", { completions: 1 }));
  await eventually(store, Jobs, "robbed", (found) => found?.status?.ready === 1);
  const [first = assert.fail("there is no pod")] = await podsOf("robbed");
  assert.ok(first.metadata.finalizers?.includes(JOB_TRACKING));
  await kubectl(["delete", "pod", first.metadata.name, "--timeout=60s"]);
  const found = await ended("robbed", "Complete");
  assert.deepEqual([found?.status?.succeeded, found?.status?.failed], [1, 1]);
});

test("a Job deleted without its pods releases them", thorough(), async () => {
  const { store, kubectl } = cluster;
  await store.create(Jobs, job("parent", "sleep 1000"));
  await eventually(store, Jobs, "parent", (found) => found?.status?.ready === 1);
  await kubectl(["delete", "job", "parent", "--cascade=orphan"]);
  const [orphan] = await podsOf("parent");
  assert.ok(orphan !== undefined);
  await eventually(store, Pods, orphan.metadata.name, (pod) => (pod?.metadata.finalizers ?? []).length === 0);
  await kubectl(["delete", "pod", orphan.metadata.name, "--timeout=60s"]);
});

test("a Job adopts pods that its selector matches, instead of making others", thorough(), async () => {
  const { store, kubectl } = cluster;
  const labels = { task: "kept" };
  const own = (name: string): Job => {
    const { spec, ...rest } = job(name, "sleep 1000");
    const template = { ...spec?.template, metadata: { labels } };
    return { ...rest, spec: { ...spec, template, manualSelector: true, selector: { matchLabels: labels } } };
  };
  const pods = async () =>
    (await store.list(Pods, { namespace: "default", labelSelector: "task=kept" })).items;
  await store.create(Jobs, own("first"));
  await eventually(store, Jobs, "first", (found) => found?.status?.ready === 1);
  await kubectl(["delete", "job", "first", "--cascade=orphan"]);
  await until(
    "the Job to be gone",
    async () => !(await kubectl(["get", "jobs", "-o", "name"])).includes("/first"),
  );
  const second = await store.create(Jobs, own("second"));
  const isCounted = (found: Job | undefined) => found?.status?.ready === 1 && found.status.active === 1;
  await eventually(store, Jobs, "second", isCounted);
  const [kept, ...others] = await pods();
  assert.deepEqual(others, []);
  assert.match(kept?.metadata.name ?? "", /^first-/);
  assert.equal(kept?.metadata.ownerReferences?.[0]?.uid, second.metadata.uid);
  assert.deepEqual(kept?.metadata.finalizers, [JOB_TRACKING]);
  await kubectl(["delete", "job", "second", "--timeout=60s"]);
  await until("its pod to be gone", async () => (await pods()).length === 0);
});
