import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployments, mutate, Pods, ReplicaSets, StatefulSets } from "@mooring/store";
import { eventually, howMany } from "@mooring/store/testing";
import fc from "fast-check";
import { BROKEN, readyStatus } from "./testing/play-kubelet.ts";
import {
  at,
  deployment,
  openWorkloadsWorld,
  statefulSet,
  template,
  type WorkloadsWorld,
} from "./testing/workloads-world.ts";

type Change =
  | { do: "scale" | "retag"; app: "db" | "web"; number: number }
  | { do: "delete-pod" | "fail-pod"; app: "db" | "web"; number: number }
  | { do: "delete-set" }
  | { do: "restart" };

const app = fc.constantFrom("db" as const, "web" as const);
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ do: fc.constant("scale" as const), app, number: fc.nat(4) }),
  fc.record({ do: fc.constant("retag" as const), app, number: fc.nat(3) }),
  fc.record({ do: fc.constantFrom("delete-pod" as const, "fail-pod" as const), app, number: fc.nat(9) }),
  fc.constantFrom<Change>({ do: "delete-set" }, { do: "restart" }),
);

async function apply(world: WorkloadsWorld, step: Change): Promise<void> {
  const { store } = world;
  if (step.do === "restart") return world.restart();
  if (step.do === "delete-set") {
    const [set] = (await store.list(ReplicaSets)).items;
    if (set !== undefined)
      await store.delete(ReplicaSets, at(set.metadata.name), { propagationPolicy: "Background" });
    return;
  }
  const { app: name, number } = step;
  if (step.do === "scale" || step.do === "retag") {
    const resource = name === "web" ? Deployments : StatefulSets;
    await mutate<{ spec?: object } & Parameters<typeof store.create>[1]>(
      store,
      resource,
      at(name),
      (object) => {
        const image = number === 3 ? BROKEN : String(number);
        Object.assign(
          object.spec ?? {},
          step.do === "scale" ? { replicas: number } : { template: template(name, image) },
        );
      },
    );
    return;
  }
  const pods = await world.pods(name);
  const pod = pods[number % Math.max(1, pods.length)];
  if (pod === undefined) return;
  // It may have gone meanwhile.
  const work =
    step.do === "delete-pod"
      ? store.delete(Pods, at(pod.metadata.name))
      : store.updateStatus(Pods, { ...pod, status: readyStatus("Failed", "False") });
  await work.catch(() => {});
}

/** All pods are of the template, as many as there should be, and the set says so. */
async function requireSettled(world: WorkloadsWorld, name: "db" | "web"): Promise<void> {
  const resource = name === "web" ? Deployments : StatefulSets;
  await eventually(`${name} is as it should be`, async () => {
    const found = await world.find<
      { spec?: { replicas?: number }; status?: { replicas?: number; updatedReplicas?: number } } & Parameters<
        typeof world.store.create
      >[1]
    >(resource, name);
    const pods = (await world.pods(name)).filter(
      ({ metadata, status }) => metadata.deletionTimestamp === undefined && status?.phase !== "Failed",
    );
    const wanted = found?.spec?.replicas ?? 1;
    const images = new Set(pods.map(({ spec }) => spec?.containers[0]?.image));
    const { replicas = 0, updatedReplicas = 0 } = found?.status ?? {};
    return pods.length === wanted && images.size <= 1 && replicas === wanted && updatedReplicas === wanted;
  });
}

test("histories of random changes, failures and restarts: at rest every workload is what its object says", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 5, maxLength: 25 }), async (changes) => {
      const world = await openWorkloadsWorld();
      try {
        await world.store.create(Deployments, deployment("web"));
        await world.store.create(StatefulSets, statefulSet("db"));
        for (const step of changes) await apply(world, step);
        for (const name of ["db", "web"] as const) {
          // Whatever the last template was: this one gets ready.
          await apply(world, { do: "retag", app: name, number: 9 });
          await requireSettled(world, name);
        }
        await world.rest();
        assert.equal(
          (await world.pods("db")).every(({ metadata }, i) => metadata.name === `db-${i}`),
          true,
        );
      } finally {
        await world.stop();
      }
    }),
    { numRuns: howMany({ everyday: 2, full: 25, deep: 300 }), endOnFailure: true },
  );
});
