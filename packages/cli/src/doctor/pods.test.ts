import assert from "node:assert/strict";
import { test } from "node:test";
import { Events, Nodes, Pods } from "@mooring/store";
import { watchedStore } from "../testing/watched-store.ts";
import { objectChecks } from "./object-checks.ts";

test("a pod whose mount has failed is listed at once; one that only waits, once that takes long", async (t) => {
  const store = await watchedStore(t);
  const nodeName = "node-a";
  await store.create(Nodes, {
    ...{ apiVersion: "v1", kind: "Node", metadata: { name: nodeName } },
    status: { conditions: [{ type: "Ready", status: "True" }] },
  });
  for (const name of ["fails", "waits"]) {
    const pod = await store.create(Pods, {
      ...{ apiVersion: "v1", kind: "Pod", metadata: { namespace: "shop", name } },
      spec: { nodeName, containers: [{ name: "main", image: "" }] },
    });
    if (name === "waits") continue;
    const { uid = "" } = pod.metadata;
    await store.create(Events, {
      ...{ apiVersion: "v1", kind: "Event", metadata: { namespace: "shop", name: "fails.1" } },
      involvedObject: { apiVersion: "v1", kind: "Pod", namespace: "shop", name, uid },
      ...{ type: "Warning", reason: "FailedMount", message: 'secret "keys" not found' },
      lastTimestamp: new Date().toISOString(),
    });
  }
  const listed = async (afterMs: number) =>
    (await objectChecks(store, new Date(Date.now() + afterMs)))
      .filter(({ check }) => check.startsWith("Pod "))
      .map(({ check, state, detail }) => `${check} ${state} ${detail}`);
  const fails = 'Pod shop/fails fail Pending: FailedMount: secret "keys" not found';
  assert.deepEqual(await listed(30_000), [fails]);
  assert.deepEqual(await listed(90_000), [
    fails,
    "Pod shop/waits warn Pending: its node has not started it yet",
  ]);
});
