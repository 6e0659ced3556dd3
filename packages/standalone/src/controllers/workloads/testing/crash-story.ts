// One life of the controllers of workloads, for a test that kills them: sets the scene when it is not there yet, works
// until everything is as the scene wants it, and exits with 0. Argument: the state folder.
import {
  type Deployment,
  Deployments,
  isAlreadyExists,
  mutate,
  PersistentVolumeClaims,
  Pods,
  type StatefulSet,
  StatefulSets,
} from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { at, deployment, NAMESPACE, openWorkloadsWorld, statefulSet, template } from "./workloads-world.ts";

const [path = ""] = process.argv.slice(2);
const world = await openWorkloadsWorld(path);
const { store } = world;

async function made(work: () => Promise<unknown>): Promise<void> {
  await work().catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
}

const persistentVolumeClaimRetentionPolicy = { whenDeleted: "Delete", whenScaled: "Delete" };
await made(() => store.create(Deployments, deployment("web")));
await made(() => store.create(StatefulSets, statefulSet("db", { persistentVolumeClaimRetentionPolicy })));
await world.becomes(Deployments, "web", ({ status }) => status?.availableReplicas === 3);
await world.becomes(StatefulSets, "db", ({ spec, status }) => status?.availableReplicas === spec?.replicas);
await mutate<Deployment>(store, Deployments, at("web"), ({ spec }) => {
  if (spec !== undefined) spec.template = template("web", "two");
});
await mutate<StatefulSet>(store, StatefulSets, at("db"), ({ spec }) => {
  if (spec !== undefined) Object.assign(spec, { template: template("db", "two"), replicas: 2 });
});
await world.becomes(
  Deployments,
  "web",
  ({ status }) => status?.updatedReplicas === 3 && status.replicas === 3,
);
await mutate<Deployment>(store, Deployments, at("web"), ({ spec }) => {
  if (spec !== undefined) spec.template = template("web", "one");
});
await world.becomes(Deployments, "web", ({ metadata, status }) => {
  const seen = status?.observedGeneration === metadata.generation;
  return seen && status?.updatedReplicas === 3 && status.replicas === 3 && status.availableReplicas === 3;
});
await world.becomes(
  StatefulSets,
  "db",
  ({ status }) => status?.updatedReplicas === 2 && status.replicas === 2,
);
await eventually("two claims are left", async () => {
  const { items } = await store.list(PersistentVolumeClaims, { namespace: NAMESPACE });
  return items.length === 2;
});
await world.rest();
const { items } = await store.list(Pods, { namespace: NAMESPACE });
const names = items.map(({ metadata }) => metadata.name).sort();
if (names.length !== 5 || names[0] !== "db-0" || names[1] !== "db-1")
  throw new Error(`pods: ${names.join(", ")}`);
await world.stop();
