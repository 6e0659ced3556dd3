import assert from "node:assert/strict";
import { test } from "node:test";
import { Events, type Pod, Pods } from "@mooring/store";
import { explainService, Services } from "./explain-service.ts";
import { contextOf } from "./kinds.ts";
import { storeOf } from "./testing.ts";

const pod = (name: string, ready: "True" | "False"): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "shop", labels: { app: "db" } },
  spec: { nodeName: "node-a", containers: [{ name: "main", image: "host" }] },
  status: { phase: "Running", conditions: [{ type: "Ready", status: ready }] },
});

test("a service is explained by the pods that it selects", async (t) => {
  const store = await storeOf(t, [Services, Pods, Events]);
  const explain = () => explainService(contextOf(store), "shop", "db");
  assert.match((await explain()).message, /does not exist/);
  await store.create(Services, {
    ...{ apiVersion: "v1", kind: "Service", metadata: { name: "db", namespace: "shop" } },
    spec: { selector: { app: "db" } },
  });
  const lonely = await explain();
  assert.equal(lonely.state, "waiting");
  assert.match(lonely.message, /no pod has the labels that it selects \(app=db\)/);
  assert.match(lonely.next ?? "", /kubectl get pods -n shop --show-labels/);
  await store.create(Pods, pod("db-0", "True"));
  const ready = await explain();
  assert.deepEqual([ready.state, ready.message], ["ok", "1 of the 1 pods that it selects are ready"]);
});
