import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  ControllerRevisions,
  mutate,
  PersistentVolumeClaims,
  type Pod,
  Pods,
  ResourceQuotas,
  StatefulSets,
} from "@mooring/store";
import { eventually, thorough } from "@mooring/store/testing";
import { BROKEN, readyStatus } from "../workloads/testing/play-kubelet.ts";
import {
  at,
  NAMESPACE,
  openWorkloadsWorld,
  statefulSet,
  template,
  type WorkloadsWorld,
} from "../workloads/testing/workloads-world.ts";

let world: WorkloadsWorld;
before(async () => {
  world = await openWorkloadsWorld();
});
after(() => world?.stop());

const claims = async (app: string) => {
  const { items } = await world.store.list(PersistentVolumeClaims, {
    namespace: NAMESPACE,
    labelSelector: `app=${app}`,
  });
  return items.map(({ metadata }) => metadata.name).sort();
};
const images = async (app: string) => (await world.pods(app)).map(({ spec }) => spec?.containers[0]?.image);

/** Records what comes and what goes of the pods, by ordinal: `+0`, `ready 0`, `-0`. */
async function watchPods(app: string, work: () => Promise<unknown>): Promise<string[]> {
  const stop = new AbortController();
  const seen: string[] = [];
  const { resourceVersion } = await world.store.list(Pods);
  const watching = (async () => {
    const events = world.store.watch(Pods, {
      resourceVersion,
      labelSelector: `app=${app}`,
      signal: stop.signal,
    });
    for await (const { type, object } of events) {
      const pod = object as Pod;
      const ordinal = pod.metadata.name.split("-").at(-1);
      const ready = pod.status?.conditions?.some((c) => c.type === "Ready" && c.status === "True") === true;
      if (type === "ADDED") seen.push(`+${ordinal}`);
      else if (type === "DELETED") seen.push(`-${ordinal}`);
      else if (
        ready &&
        pod.metadata.deletionTimestamp === undefined &&
        !seen.includes(`ready ${pod.metadata.uid}`)
      )
        seen.push(`ready ${pod.metadata.uid}`, `ready ${ordinal}`);
    }
  })().catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
  await work();
  stop.abort();
  await watching;
  return seen.filter((each) => !/^ready .{36}$/.test(each));
}

test("pods start one after the other, each when the one before is ready, and stop the other way round", async () => {
  const started = await watchPods("one", async () => {
    await world.store.create(StatefulSets, statefulSet("one"));
    await world.rolledOut(StatefulSets, "one");
  });
  assert.deepEqual(started, ["+0", "ready 0", "+1", "ready 1", "+2", "ready 2"]);
  const [pod] = await world.pods("one");
  assert.equal(pod?.spec?.hostname, "one-0");
  assert.equal(pod?.spec?.subdomain, "one");
  assert.equal(pod?.metadata.labels?.["apps.kubernetes.io/pod-index"], "0");
  assert.equal(pod?.spec?.volumes?.at(-1)?.persistentVolumeClaim?.claimName, "data-one-0");
  const stopped = await watchPods("one", async () => {
    await world.change(StatefulSets, "one", { replicas: 1 });
    await world.rolledOut(StatefulSets, "one");
  });
  assert.deepEqual(stopped, ["-2", "-1"]);
  assert.deepEqual(await claims("one"), ["data-one-0", "data-one-1", "data-one-2"], "data outlives its pod");
});

test("a rolling update replaces the last pod first, and no pod below the partition", async () => {
  await world.store.create(StatefulSets, statefulSet("roll"));
  await world.rolledOut(StatefulSets, "roll");
  const seen = await watchPods("roll", async () => {
    await world.change(StatefulSets, "roll", { template: template("roll", "two") });
    await world.rolledOut(StatefulSets, "roll");
  });
  const each = [2, 1, 0].flatMap((ordinal) => [`-${ordinal}`, `+${ordinal}`, `ready ${ordinal}`]);
  assert.deepEqual(seen, each);
  const updateStrategy = { type: "RollingUpdate", rollingUpdate: { partition: 2 } };
  await world.change(StatefulSets, "roll", { template: template("roll", "three"), updateStrategy });
  await world.becomes(StatefulSets, "roll", ({ status }) => status?.updatedReplicas === 1);
  await world.rest();
  assert.deepEqual(await images("roll"), ["two", "two", "three"]);
  // What comes back below the partition is as it was.
  await world.store.delete(Pods, at("roll-0"));
  await world.becomes(StatefulSets, "roll", ({ status }) => status?.readyReplicas === 3);
  await world.rest();
  assert.deepEqual(await images("roll"), ["two", "two", "three"]);
});

test("a template that never gets ready is replaced by the next one without an operator", async () => {
  await world.store.create(StatefulSets, statefulSet("bad", { template: template("bad", BROKEN) }));
  await world.becomes(Pods, "bad-0", (pod) => pod.metadata.uid !== undefined);
  await world.change(StatefulSets, "bad", { template: template("bad", "good") });
  await world.rolledOut(StatefulSets, "bad");
  assert.deepEqual(await images("bad"), ["good", "good", "good"]);
});

test(
  "claims go with the set, or with the pods that it loses, when the policy says so",
  thorough(),
  async () => {
    const persistentVolumeClaimRetentionPolicy = { whenDeleted: "Delete", whenScaled: "Delete" };
    await world.store.create(StatefulSets, statefulSet("gone", { persistentVolumeClaimRetentionPolicy }));
    await world.rolledOut(StatefulSets, "gone");
    await world.change(StatefulSets, "gone", { replicas: 1 });
    await eventually("claims of lost pods go", async () => (await claims("gone")).length === 1);
    await world.change(StatefulSets, "gone", { replicas: 2 });
    await world.rolledOut(StatefulSets, "gone");
    assert.deepEqual(await claims("gone"), ["data-gone-0", "data-gone-1"]);
    await world.store.delete(StatefulSets, at("gone"), { propagationPolicy: "Background" });
    await eventually("claims of the set go", async () => (await claims("gone")).length === 0);
    await eventually("its pods go", async () => (await world.pods("gone")).length === 0);
  },
);

/** Templates of claims of this size. */
const sizedTemplates = (storage: string, storageClassName = "grows") =>
  (statefulSet("any").spec?.volumeClaimTemplates ?? []).map((each) => ({
    ...each,
    spec: { ...each.spec, storageClassName, resources: { requests: { storage } } },
  }));
const asks = (name: string, storage: string) =>
  world.becomes(
    PersistentVolumeClaims,
    name,
    ({ spec }) => spec?.resources?.requests?.["storage"] === storage,
  );
const grant = (name: string, storage: string) =>
  mutate(world.store, PersistentVolumeClaims, at(name), {
    change: (claim) => ({ ...claim, status: { ...claim.status, capacity: { storage } } }),
    subresource: "status",
  });

test("claims grow after their template, which changes in nothing else", thorough(), async () => {
  await world.store.create(StatefulSets, statefulSet("grow", { replicas: 2 }));
  await world.rolledOut(StatefulSets, "grow");
  await world.change(StatefulSets, "grow", { volumeClaimTemplates: sizedTemplates("2Gi") });
  for (const name of ["data-grow-0", "data-grow-1"]) await asks(name, "2Gi");
  await assert.rejects(
    world.change(StatefulSets, "grow", { volumeClaimTemplates: sizedTemplates("3Gi", "other") }),
    /updates to statefulset spec for fields other than/,
  );
});

test("a growth without room is taken back by the template, but not what a user has asked for", async () => {
  await world.store.create(StatefulSets, statefulSet("back-off", { replicas: 3 }));
  await world.rolledOut(StatefulSets, "back-off");
  const claims = [0, 1, 2].map((ordinal) => `data-back-off-${ordinal}`);
  const [full = "", waiting = "", own = ""] = claims;
  for (const name of claims) await grant(name, "1Gi");
  await world.change(StatefulSets, "back-off", { volumeClaimTemplates: sizedTemplates("3Gi") });
  for (const name of claims) await asks(name, "3Gi");
  await grant(full, "3Gi");
  const body = { spec: { resources: { requests: { storage: "4Gi" } } } };
  const byUser = { fieldManager: "kubectl-edit" };
  await world.store.patch(PersistentVolumeClaims, at(own), { type: "merge", body }, byUser);

  await world.change(StatefulSets, "back-off", { volumeClaimTemplates: sizedTemplates("2Gi") });
  await asks(waiting, "2Gi");
  await world.change(StatefulSets, "back-off", { volumeClaimTemplates: sizedTemplates("512Mi") });
  await asks(waiting, "1Gi");
  await world.rest();
  await asks(full, "3Gi");
  await asks(own, "4Gi");
  await assert.rejects(
    world.change(StatefulSets, "back-off", { volumeClaimTemplates: sizedTemplates("256Mi") }),
    /spec\.volumeClaimTemplates\[0\]\.spec\.resources\.requests\.storage: Forbidden: may not get smaller/,
  );
});

test("a pod that ends or is deleted comes back with its name and its claim", thorough(), async () => {
  await world.store.create(StatefulSets, statefulSet("back", { replicas: 1 }));
  await world.rolledOut(StatefulSets, "back");
  const [first] = await world.pods("back");
  assert.ok(first);
  await world.store.updateStatus(Pods, { ...first, status: readyStatus("Failed", "False") });
  const second = await world.becomes(Pods, "back-0", ({ metadata }) => metadata.uid !== first.metadata.uid);
  await world.rolledOut(StatefulSets, "back");
  assert.equal(second.spec?.volumes?.at(-1)?.persistentVolumeClaim?.claimName, "data-back-0");
  assert.deepEqual(await claims("back"), ["data-back-0"]);
});

test("in parallel, all pods start at once; ordinals start at `spec.ordinals.start`", thorough(), async () => {
  const parallel = {
    podManagementPolicy: "Parallel",
    template: template("par", BROKEN),
    ordinals: { start: 5 },
  };
  await world.store.create(StatefulSets, statefulSet("par", parallel));
  await eventually("three pods that are not ready", async () => (await world.pods("par")).length === 3);
  assert.deepEqual(
    (await world.pods("par")).map(({ metadata }) => metadata.name),
    ["par-5", "par-6", "par-7"],
  );
});

test(
  "history is kept as far as it is asked for, and a way back is a new number of the old revision",
  thorough(),
  async () => {
    await world.store.create(StatefulSets, statefulSet("past", { replicas: 1, revisionHistoryLimit: 1 }));
    const { status } = await world.rolledOut(StatefulSets, "past");
    for (const image of ["two", "three", "four", "one"]) {
      await world.change(StatefulSets, "past", { template: template("past", image) });
      await world.rolledOut(StatefulSets, "past");
    }
    await world.rest();
    const revisions = (await world.store.list(ControllerRevisions, { namespace: NAMESPACE })).items.filter(
      ({ metadata }) => metadata.name.startsWith("past-"),
    );
    assert.equal(revisions.length, 2);
    const now = (await world.rolledOut(StatefulSets, "past")).status;
    assert.equal(now?.currentRevision, status?.currentRevision, "the same template has the same name");
  },
);

test("a rolling update replaces as many pods at a time as may be missing, and never more", async () => {
  const rollingUpdate = { maxUnavailable: "50%" };
  await world.store.create(
    StatefulSets,
    statefulSet("many", { replicas: 5, updateStrategy: { type: "RollingUpdate", rollingUpdate } }),
  );
  await world.rolledOut(StatefulSets, "many");
  const seen = await watchPods("many", async () => {
    await world.change(StatefulSets, "many", { template: template("many", "two") });
    await world.rolledOut(StatefulSets, "many");
  });
  let [missing, most] = [0, 0];
  for (const each of seen) {
    if (each.startsWith("-")) missing += 1;
    if (each.startsWith("ready")) missing -= 1;
    most = Math.max(most, missing);
  }
  assert.equal(most, 2, seen.join(" "));
  assert.deepEqual(await images("many"), ["two", "two", "two", "two", "two"]);
  for (const [wrong, why] of [
    [0, /cannot be 0/],
    ["101%", /must not be greater than 100%/],
    ["many", /valid percent string/],
  ] as const) {
    const updateStrategy = { type: "RollingUpdate", rollingUpdate: { maxUnavailable: wrong } };
    await assert.rejects(world.store.create(StatefulSets, statefulSet("wrong", { updateStrategy })), why);
  }
});

test("while a claim is refused the status is that of now, and the set goes on when there is room", async () => {
  await world.store.create(StatefulSets, statefulSet("quota", { replicas: 1 }));
  const { metadata } = await world.rolledOut(StatefulSets, "quota");
  const others = (await world.store.list(PersistentVolumeClaims, { namespace: NAMESPACE })).items.length;
  await world.store.create(ResourceQuotas, {
    ...{ apiVersion: "v1", kind: "ResourceQuota", metadata: at("few") },
    spec: { hard: { persistentvolumeclaims: String(others + 1) } },
  });
  try {
    await world.change(StatefulSets, "quota", { replicas: 3 });
    // One more fits, the third does not: what `kubectl rollout status` waits for is known all the same.
    const full = await world.becomes(
      StatefulSets,
      "quota",
      ({ status }) =>
        (status?.observedGeneration ?? 0) > (metadata.generation ?? 0) && status?.availableReplicas === 2,
    );
    assert.equal(full.status?.replicas, 2);
    const become = (ready: "True" | "False") =>
      mutate(world.store, Pods, at("quota-0"), {
        change: (pod) => ({ ...pod, status: { ...pod.status, ...readyStatus("Running", ready) } }),
        subresource: "status",
      });
    await become("False");
    await world.becomes(StatefulSets, "quota", ({ status }) => status?.availableReplicas === 1);
    await become("True");
  } finally {
    await world.store.delete(ResourceQuotas, at("few"));
  }
  await world.rolledOut(StatefulSets, "quota");
});

test("a set that adopts the pods of one that was deleted without them goes on with their revision", async () => {
  await world.store.create(StatefulSets, statefulSet("heir"));
  await world.rolledOut(StatefulSets, "heir");
  const uids = async () => (await world.pods("heir")).map(({ metadata }) => metadata.uid).sort();
  const before = await uids();
  await world.store.delete(StatefulSets, at("heir"), { propagationPolicy: "Orphan" });
  await eventually("the set has gone and its pods are orphans", async () =>
    (await world.pods("heir")).every(({ metadata }) => (metadata.ownerReferences ?? []).length === 0),
  );
  await world.store.create(StatefulSets, statefulSet("heir"));
  await world.rolledOut(StatefulSets, "heir");
  await world.rest();
  assert.deepEqual(await uids(), before, "no pod is replaced: the template is the same");
  const { items } = await world.store.list(ControllerRevisions, { namespace: NAMESPACE });
  const ofHeir = items.filter(({ metadata }) => metadata.name.startsWith("heir-"));
  assert.equal(ofHeir.length, 1, "the history is adopted, not begun anew");
  assert.equal(ofHeir[0]?.metadata.ownerReferences?.length, 1, "no revision is left without an owner");
});
