import assert from "node:assert/strict";
import { test } from "node:test";
import { type PersistentVolumeClaim, type StatefulSet, StatefulSets } from "@mooring/store";
import { setThatSizes } from "./claim-template.ts";
import { storeOf } from "./testing.ts";

const NAMESPACE = "default";
const resources = (storage: string) => ({ resources: { requests: { storage } } });
const claimOf = (name: string, storage: string): PersistentVolumeClaim => ({
  ...{ apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { namespace: NAMESPACE, name } },
  spec: resources(storage),
});
const SET: StatefulSet = {
  ...{ apiVersion: "apps/v1", kind: "StatefulSet", metadata: { namespace: NAMESPACE, name: "db" } },
  spec: {
    ...{ replicas: 2, serviceName: "db", selector: {}, template: {} },
    volumeClaimTemplates: [{ metadata: { name: "data" }, spec: resources("4Gi") }],
  },
};

for (const [title, claim, version, wanted] of [
  ["what it asks for itself is the set's", claimOf("data-db-1", "4Gi"), "v1.35.0+mooring", "db"],
  ["less, which is about to be raised, too", claimOf("data-db-1", "3Gi"), "v1.35.0+mooring", "db"],
  ["more is the claim's own", claimOf("data-db-1", "5Gi"), "v1.35.0+mooring", undefined],
  ["a pod that the set has not", claimOf("data-db-2", "4Gi"), "v1.35.0+mooring", undefined],
  ["no template of it", claimOf("logs-db-1", "4Gi"), "v1.35.0+mooring", undefined],
  ["sets of a cluster raise no claim", claimOf("data-db-1", "4Gi"), "v1.35.0", undefined],
] as const)
  test(`the set that has a claim ask for so much: ${title}`, async (t) => {
    const store = Object.assign(await storeOf(t, [StatefulSets]), {
      getText: async () => JSON.stringify({ gitVersion: version }),
    });
    await store.create(StatefulSets, SET);
    assert.equal(await setThatSizes({ store }, claim), wanted);
  });
