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

test("a full pool is explained with the way to make room", async (t) => {
  const store = await storeOf(t, [Pools, Events]);
  const condition = (type: string, reason: string, message: string) => ({
    ...{ type, reason, message, status: "True" as const, lastTransitionTime: "2026-01-01T00:00:00Z" },
  });
  const low = condition("SpaceLow", "AlmostFull", "more than 95 % of the pool is used");
  const pool = (name: string, conditions: object[]) =>
    store.create(Pools, {
      ...{ apiVersion: "storage.mooring.dev/v1alpha1", kind: "Pool", metadata: { name } },
      spec: { type: "xfs", nodeID: "a", path: "/p" },
      status: { ready: true, conditions },
    } as Pool);
  await pool("low", [low]);
  await pool("full", [low, condition("WritesFail", "PoolFull", "nothing is left in the pool")]);
  const explained = (name: string) =>
    explainPool({ store, explain: () => assert.fail("a pool asks about no other kind") }, name);
  const makesRoom = /^delete claims or snapshots .*kubectl patch pool \w+ /;
  const full = await explained("full");
  assert.deepEqual([full.state, full.message], ["failed", "nothing is left in the pool"]);
  assert.match(full.next ?? "", makesRoom);
  const almost = await explained("low");
  assert.match(almost.message, /more than 95 %/);
  assert.match(almost.next ?? "", makesRoom);
});
