import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReplicaSet } from "@mooring/store";
import { decide, type ReplicaSetView } from "./decide.ts";

function view(replicas: number, status: ReplicaSet["status"] = { replicas: 0 }): ReplicaSetView {
  const spec = { replicas, selector: { matchLabels: { app: "a" } }, template: {} };
  const set: ReplicaSet = {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: { name: "web" },
    spec,
    status,
  };
  return { set, owned: [], orphans: [], failure: "no room", now: 0 };
}

test("a set whose pods are refused says so, and no longer when it wants none", () => {
  const refused = decide(view(1));
  assert.ok(refused.do === "write-status");
  assert.deepEqual(
    refused.status.conditions?.map(({ type, message }) => [type, message]),
    [["ReplicaFailure", "no room"]],
  );
  assert.equal(decide(view(1, refused.status)).do, "create-pod", "it goes on trying");
  const over = decide(view(0, refused.status));
  assert.ok(over.do === "write-status");
  assert.equal(over.status.conditions, undefined);
  assert.equal(decide(view(0, over.status)).do, "done");
});
