import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  type Deployment,
  Deployments,
  mutate,
  type Pod,
  Pods,
  type ReplicaSet,
  ReplicaSets,
} from "@mooring/store";
import { eventually, thorough } from "@mooring/store/testing";
import { BROKEN } from "../workloads/testing/play-kubelet.ts";
import {
  at,
  deployment,
  NAMESPACE,
  openWorkloadsWorld,
  template,
  type WorkloadsWorld,
} from "../workloads/testing/workloads-world.ts";
import { REVISION } from "./revisions.ts";

let world: WorkloadsWorld;
before(async () => {
  world = await openWorkloadsWorld();
});
after(() => world?.stop());

const conditionOf = ({ status }: Deployment, type: string) =>
  status?.conditions?.find((each) => each.type === type);
const setsOf = async (name: string): Promise<ReplicaSet[]> => {
  const options = { namespace: NAMESPACE, labelSelector: `app=${name}` };
  return (await world.store.list(ReplicaSets, options)).items;
};
const isReady = (pod: Pod) =>
  pod.metadata.deletionTimestamp === undefined &&
  pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true;

/** Calls back with all live pods of the label after every change, while the work goes on. */
async function observe(
  app: string,
  check: (pods: Pod[]) => void,
  work: () => Promise<unknown>,
): Promise<void> {
  const stop = new AbortController();
  const { items, resourceVersion } = await world.store.list(Pods, { labelSelector: `app=${app}` });
  const live = new Map(items.map((pod) => [pod.metadata.uid, pod]));
  const watching = (async () => {
    const options = { resourceVersion, labelSelector: `app=${app}`, signal: stop.signal };
    for await (const { type, object } of world.store.watch(Pods, options)) {
      const pod = object as Pod;
      if (type === "DELETED") live.delete(pod.metadata.uid);
      else if (type !== "BOOKMARK") live.set(pod.metadata.uid, pod);
      check([...live.values()].filter((each) => each.metadata.deletionTimestamp === undefined));
    }
  })().catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
  await work();
  stop.abort();
  await watching;
}

test("a rolling update never has fewer available pods, or more pods, than it may", async () => {
  const rollingUpdate = { maxSurge: 1, maxUnavailable: 1 };
  const strategy = { type: "RollingUpdate", rollingUpdate };
  await world.store.create(Deployments, deployment("roll", { replicas: 6, strategy }));
  await world.rolledOut(Deployments, "roll");
  let [most, fewest] = [0, 6];
  const check = (pods: Pod[]) => {
    most = Math.max(most, pods.length);
    fewest = Math.min(fewest, pods.filter(isReady).length);
  };
  await observe("roll", check, async () => {
    await world.change(Deployments, "roll", { template: template("roll", "two") });
    await world.rolledOut(Deployments, "roll");
  });
  assert.ok(most <= 7, `${most} pods`);
  assert.ok(fewest >= 5, `${fewest} available`);
  const { status } = await world.rolledOut(Deployments, "roll");
  assert.equal(status?.unavailableReplicas, 0);
});

test("with Recreate, no new pod begins before the last old one has gone", async () => {
  await world.store.create(Deployments, deployment("all", { strategy: { type: "Recreate" } }));
  await world.rolledOut(Deployments, "all");
  const check = (pods: Pod[]) => {
    const images = new Set(pods.map(({ spec }) => spec?.containers[0]?.image));
    assert.ok(images.size <= 1, [...images].join(" and "));
  };
  await observe("all", check, async () => {
    await world.change(Deployments, "all", { template: template("all", "two") });
    await world.rolledOut(Deployments, "all");
  });
});

test("a way back is the old set with a new revision; history is kept as far as it is asked for", async () => {
  await world.store.create(Deployments, deployment("past", { replicas: 1, revisionHistoryLimit: 2 }));
  await world.rolledOut(Deployments, "past");
  for (const image of ["two", "three", "four"]) {
    await world.change(Deployments, "past", { template: template("past", image) });
    await world.rolledOut(Deployments, "past");
  }
  await eventually("two old sets are left", async () => (await setsOf("past")).length === 3);
  const three = (await setsOf("past")).find(
    ({ spec }) => spec?.template?.spec?.containers[0]?.image === "three",
  );
  assert.equal(three?.metadata.annotations?.[REVISION], "3");
  await world.change(Deployments, "past", { template: template("past", "three") });
  const found = await world.rolledOut(Deployments, "past");
  assert.equal(found.metadata.annotations?.[REVISION], "5");
  assert.equal(
    (await world.find(ReplicaSets, three?.metadata.name ?? ""))?.metadata.annotations?.[REVISION],
    "5",
  );
});

test(
  "a rollout that stands still says so, keeps what serves, and goes on when it is repaired",
  thorough(),
  async () => {
    await world.store.create(Deployments, deployment("stuck", { progressDeadlineSeconds: 1 }));
    await world.rolledOut(Deployments, "stuck");
    await world.change(Deployments, "stuck", { template: template("stuck", BROKEN) });
    const stuck = await world.becomes(
      Deployments,
      "stuck",
      (found) => conditionOf(found, "Progressing")?.reason === "ProgressDeadlineExceeded",
    );
    assert.equal(conditionOf(stuck, "Available")?.status, "True");
    assert.equal((await world.pods("stuck")).filter(isReady).length, 3);
    await world.change(Deployments, "stuck", { template: template("stuck", "good") });
    const repaired = await world.rolledOut(Deployments, "stuck");
    assert.equal(conditionOf(repaired, "Progressing")?.reason, "NewReplicaSetAvailable");
  },
);

test("paused, a new template waits and the replicas follow", thorough(), async () => {
  await world.store.create(Deployments, deployment("wait", { replicas: 1 }));
  await world.rolledOut(Deployments, "wait");
  await world.change(Deployments, "wait", { paused: true, template: template("wait", "two"), replicas: 2 });
  await eventually("two pods", async () => (await world.pods("wait")).length === 2);
  await world.rest();
  assert.deepEqual(
    (await world.pods("wait")).map(({ spec }) => spec?.containers[0]?.image),
    ["one", "one"],
  );
  await world.change(Deployments, "wait", { paused: false });
  await world.rolledOut(Deployments, "wait");
});

test("a set takes on pods that fit, releases those that fit no more, and fills up", thorough(), async () => {
  const [set] = await (async () => {
    await world.store.create(Deployments, deployment("own", { replicas: 2 }));
    await world.rolledOut(Deployments, "own");
    return setsOf("own");
  })();
  const [one] = await world.pods("own");
  assert.ok(set && one);
  await mutate(world.store, Pods, at(one.metadata.name), (pod) => {
    pod.metadata.labels = { app: "else" };
  });
  await eventually("it is nobody's", async () => {
    const pod = await world.find(Pods, one.metadata.name);
    return pod?.metadata.ownerReferences === undefined;
  });
  await eventually("another one is there", async () => (await world.pods("own")).length === 2);
  await world.store.delete(Deployments, at("own"), { propagationPolicy: "Background" });
  await eventually("its pods go", async () => (await world.pods("own")).length === 0);
  assert.ok(await world.find(Pods, one.metadata.name), "what it released stays");
});

test("in the middle of a rollout that stands still, both sets take their part of another number of replicas", async () => {
  const strategy = { type: "RollingUpdate", rollingUpdate: { maxSurge: 3, maxUnavailable: 2 } };
  await world.store.create(Deployments, deployment("share", { replicas: 10, strategy }));
  await world.rolledOut(Deployments, "share");
  await world.change(Deployments, "share", { template: template("share", BROKEN) });
  const sizes = async () =>
    (await setsOf("share"))
      .sort((a, b) => Number(a.metadata.annotations?.[REVISION]) - Number(b.metadata.annotations?.[REVISION]))
      .map(({ spec }) => spec?.replicas);
  const become = (wanted: number[]) =>
    eventually(`sets of ${wanted}`, async () => String(await sizes()) === String(wanted), {
      lastSeen: sizes,
    });
  await become([8, 5]);
  await world.change(Deployments, "share", { replicas: 15 });
  await become([11, 7]);
  await world.store.delete(Deployments, at("share"));
});
