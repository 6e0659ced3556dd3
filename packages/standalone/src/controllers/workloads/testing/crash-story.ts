// One life of the controllers of workloads, for a test that kills them: sets the scene when it is not there yet, works
// until everything is as the scene wants it, and exits with 0. Argument: the state folder.
import assert from "node:assert/strict";
import {
  type ControllerRevision,
  ControllerRevisions,
  Deployments,
  mutate,
  PersistentVolumeClaims,
  type Pod,
  Pods,
  type ReplicaSet,
  ReplicaSets,
  StatefulSets,
} from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { setNameOf } from "../../deployment/template.ts";
import { nameOf } from "../../stateful-set/revisions.ts";
import { beginStoryLife } from "../../testing/story-life.ts";
import { at, deployment, NAMESPACE, statefulSet, template, workloadsWorldOver } from "./workloads-world.ts";

const life = await beginStoryLife();
const { store, ensure, once } = life;

const RETENTION = { whenDeleted: "Delete", whenScaled: "Delete" };
const web = deployment("web", { revisionHistoryLimit: 1 });
const db = statefulSet("db", { persistentVolumeClaimRetentionPolicy: RETENTION, revisionHistoryLimit: 1 });

/** A set without an owner: with a label that a Deployment selects it is adopted. */
function looseSet(name: string, app: string): ReplicaSet {
  const labels = { app, loose: "yes" };
  return {
    ...{ apiVersion: "apps/v1", kind: "ReplicaSet", metadata: { ...at(name), labels } },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { ...template(app), metadata: { labels } },
    },
  };
}

/** A set and a revision to adopt; and the names that the first set and the first revision would get are taken. */
await once("scene", async () => {
  await ensure(ReplicaSets, looseSet("loose", "web"));
  await ensure(Deployments, web);
  await ensure(StatefulSets, db);
  await ensure(ReplicaSets, looseSet(setNameOf(await store.get(Deployments, at("web"))), "other"));
  const name = nameOf(await store.get(StatefulSets, at("db")));
  const revision = {
    apiVersion: "apps/v1",
    kind: "ControllerRevision",
    metadata: at(name),
    data: {},
    revision: 1,
  };
  await ensure<ControllerRevision>(ControllerRevisions, revision);
  const loose = { ...revision, metadata: { ...at("db-loose"), labels: { app: "db" } } };
  await ensure<ControllerRevision>(ControllerRevisions, loose);
});
const world = await workloadsWorldOver(life);
await once("first", async () => {
  await world.rolledOut(Deployments, "web");
  await world.rolledOut(StatefulSets, "db");
});

/** One pod of each loses its owner, and one of the Deployment its label. */
await once("pods-change", async () => {
  const live = (await world.pods("web")).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const [first, second] = live.map(({ metadata }) => metadata.name);
  await mutate(store, Pods, at(first ?? ""), withoutOwner);
  await mutate(store, Pods, at(second ?? ""), ({ metadata }) => {
    metadata.labels = { ...metadata.labels, app: "released" };
  });
  await mutate(store, Pods, at("db-1"), withoutOwner);
});
await world.rolledOut(Deployments, "web");
await world.rolledOut(StatefulSets, "db");

function withoutOwner({ metadata }: Pod): void {
  delete metadata.ownerReferences;
}

/** There, back, and somewhere else: the set of before is the current one again, and the history gets too long. */
for (const [part, image] of Object.entries({ forth: "two", back: "one", on: "three" })) {
  await once(part, async () => {
    await world.change(Deployments, "web", { template: template("web", image) });
    await world.change(StatefulSets, "db", { template: template("db", image) });
    await world.rolledOut(Deployments, "web");
    await world.rolledOut(StatefulSets, "db");
  });
}
await once("claims", async () => {
  await world.change(StatefulSets, "db", { replicas: 2, volumeClaimTemplates: sized("2Gi") });
});
await world.rolledOut(Deployments, "web");
await world.rolledOut(StatefulSets, "db");

function sized(storage: string) {
  return (db.spec?.volumeClaimTemplates ?? []).map((each) => ({
    ...each,
    spec: { ...each.spec, resources: { requests: { storage } } },
  }));
}

await eventually("two claims are left, and have grown", async () => {
  const { items } = await store.list(PersistentVolumeClaims, { namespace: NAMESPACE });
  return items.length === 2 && items.every(({ spec }) => spec?.resources?.requests?.["storage"] === "2Gi");
});
await world.rest();
const count = async (app: string) => (await world.pods(app)).length;
assert.deepEqual(
  (await world.pods("db")).map(({ metadata }) => metadata.name),
  ["db-0", "db-1"],
);
assert.deepEqual([await count("web"), await count("other")], [3, 1]);
await world.stop();
await life.end([]);
