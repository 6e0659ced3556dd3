import assert from "node:assert/strict";
import { test } from "node:test";
import { type Pool, Pools } from "@mooring/engine";
import { Events } from "@mooring/store";
import { poolCheck } from "../doctor/pool-check.ts";
import { explainPool } from "./explain-pool.ts";
import { storeOf } from "./testing.ts";

const CEPH: Pool = {
  ...{ apiVersion: "storage.mooring.dev/v1alpha1", kind: "Pool", metadata: { name: "ceph" } },
  spec: {
    ...{ type: "rbd", mode: "shared", path: "/etc/ceph/ceph.conf" },
    rbd: { user: "mooring", pool: "images", namespace: "team-a" },
  },
};

test("a Pool object that no node was started with is no pool that has nothing to report: what starts one is said", async (t) => {
  const store = await storeOf(t, [Pools, Events]);
  await store.create(Pools, CEPH);
  const {
    state,
    message,
    next = "",
  } = await explainPool({ store, explain: () => assert.fail("a pool asks about no other kind") }, "ceph");
  assert.equal(state, "failed");
  assert.match(message, /no node has it/);
  assert.match(
    next,
    /--rbd-pool ceph=conf:\/etc\/ceph\/ceph\.conf,user:mooring,pool:images,namespace:team-a$/,
  );
  const { detail } = poolCheck(CEPH);
  assert.match(detail, /no node has it/);
});

test("one that nodes have is explained by what they report", () => {
  assert.equal(poolCheck({ ...CEPH, status: { ready: true, nodes: ["a"] } }).state, "ok");
  const conditions = [
    { type: "Ready", status: "False" as const, reason: "Silent", message: "the cluster does not respond" },
  ];
  const silent = { ...CEPH, status: { ready: false, conditions } } as Pool;
  assert.match(poolCheck(silent).detail, /does not respond/);
});
