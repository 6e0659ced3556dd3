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

test("a Pool object in which no node takes part: why not, and what makes one take part", async (t) => {
  const store = await storeOf(t, [Pools, Events]);
  await store.create(Pools, CEPH);
  const {
    state,
    message,
    next = "",
  } = await explainPool({ store, explain: () => assert.fail("a pool asks about no other kind") }, "ceph");
  assert.equal(state, "failed");
  assert.match(message, /no node has it/);
  assert.match(next, /^put the cluster's configuration file there, and the user's keyring, on each machine/);
  const said = "no node has it: none has /etc/ceph/ceph.conf";
  const condition = { type: "Ready", status: "False" as const, reason: "NoNode", message: said };
  const reported = { ...CEPH, status: { ready: false, conditions: [condition] } } as Pool;
  for (const pool of [CEPH, reported]) {
    const { state: level, detail, next: then } = poolCheck(pool);
    assert.equal(level, "fail");
    assert.match(detail, pool === CEPH ? /^no node has it$/ : new RegExp(`^${said}$`));
    assert.equal(then, next);
  }
});

test("one that nodes have is explained by what they report", () => {
  assert.equal(poolCheck({ ...CEPH, status: { ready: true, nodes: ["a"] } }).state, "ok");
  const conditions = [
    { type: "Ready", status: "False" as const, reason: "Silent", message: "the cluster does not respond" },
  ];
  const silent = { ...CEPH, status: { ready: false, conditions } } as Pool;
  assert.match(poolCheck(silent).detail, /does not respond/);
});
